"""Stand-in: the records, with the documented fields."""

from __future__ import annotations

from enum import Enum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class FailureBoundary(Enum):
    AGENT = "agent"
    COLLECTION = "collection"
    ENVIRONMENT = "environment"
    HARNESS = "harness"
    MODEL = "model"
    RESOURCES_SERVER = "resources_server"
    SANDBOX = "sandbox"


class FailureEvent(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    event_id: str
    failure_kind: str
    boundary: FailureBoundary
    failure_reason: str = Field(default="", max_length=2000)
    exception_type: str | None = None
    http_status: int | None = None
    stage: str | None = None
    operation: str | None = None
    operation_id: str | None = None
    attempt_id: str | None = None
    cause_id: str | None = None
    foreign_error: dict[str, Any] | None = None
    details: dict[str, Any] | None = None


class FailureReport(BaseModel):
    model_config = ConfigDict(extra="forbid")
    events: dict[str, FailureEvent] = {}
    failure_id: str | None = None
    omitted: bool = False
