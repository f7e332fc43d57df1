"""Who observes failures: an enumeration by itself, since settings need it where pydantic must not be loaded yet."""

from __future__ import annotations

from enum import Enum


class FailureBoundary(Enum):
    """Who observed a failure. None of them chooses retries, terminality or scores."""

    AGENT = "agent"
    COLLECTION = "collection"
    ENVIRONMENT = "environment"
    HARNESS = "harness"
    MODEL = "model"
    RESOURCES_SERVER = "resources_server"
    SANDBOX = "sandbox"
