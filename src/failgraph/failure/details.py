"""Typed facts that an event may carry: details of a sandbox or a model, and of a foreign error.

Part of the schema of `nemo_gym.core.failure_records`; `failure.records` holds the rest of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from failgraph.failure.boundary import FailureBoundary


def without_nulls(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value: on the wire an absent field stays absent."""
    return {name: value for name, value in fields.items() if value is not None}


class SdkErrorDetails(BaseModel):
    """What an adapter kept of a third-party error before it raised its own failure.

    The adapter chooses the message, because `str()` of an SDK's error can contain request data.
    The error object, its request and its response body are never stored.

    Attributes:
        exception_type: Class name of the error, 1 to 256 characters.
        message: At most 2,000 characters.
        http_status: 100 to 599.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    exception_type: str = Field(min_length=1, max_length=256)
    message: str = Field(max_length=2000)
    http_status: int | None = Field(default=None, ge=100, le=599)

    @model_serializer(mode="wrap")
    def _serialize_details(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_nulls(handler(self))


class SandboxFailureDetails(BaseModel):
    """Observed facts of a sandbox. Facts without evidence stay absent.

    Attributes:
        provider: Name of the sandbox provider, at most 256 characters.
        sandbox_id: The provider's id of the sandbox, at most 256 characters.
        execution_id: The last execution seen, at most 256 characters. It does not establish a
            cause.
        exit_code: As the command reported it, of any size, never a made-up fallback.
        provider_status_reason: The provider's own reason code, at most 2,000 characters.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: str | None = Field(default=None, max_length=256)
    sandbox_id: str | None = Field(default=None, max_length=256)
    execution_id: str | None = Field(default=None, max_length=256)
    exit_code: int | None = None
    provider_status_reason: str | None = Field(default=None, max_length=2000)

    @model_serializer(mode="wrap")
    def _serialize_details(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_nulls(handler(self))


class ModelFailureDetails(BaseModel):
    """Observed facts of a model request, independent of any retry or scoring policy.

    Attributes:
        provider_request_id: The provider's id of the request, at most 256 characters.
        request_upload_complete: True if the whole request was sent before it failed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    provider_request_id: str | None = Field(default=None, max_length=256)
    request_upload_complete: bool | None = None

    @model_serializer(mode="wrap")
    def _serialize_details(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_nulls(handler(self))


# The boundary of the event selects one of the two.
FailureDetails = SandboxFailureDetails | ModelFailureDetails

DETAILS_OF: Mapping[FailureBoundary, type[FailureDetails]] = {
    FailureBoundary.SANDBOX: SandboxFailureDetails,
    FailureBoundary.MODEL: ModelFailureDetails,
}  # every other boundary refuses details
