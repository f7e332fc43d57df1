"""The records of `nemo_gym.core.failure_records`: same names, fields, limits and validators.

On the wire an absent field stays absent: no dump holds a null, and inside a report an event does
not repeat the id that keys it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)
from typing_extensions import Self

from failgraph.failure import cause_graph
from failgraph.failure.boundary import FailureBoundary
from failgraph.failure.details import (
    DETAILS_OF,
    FailureDetails,
    ModelFailureDetails,
    SandboxFailureDetails,
    SdkErrorDetails,
    without_nulls,
)
from failgraph.failure.kinds import checked_kind

__all__ = [
    "EpisodeFailure",
    "FailureBoundary",
    "FailureDetails",
    "FailureEvent",
    "FailureReport",
    "FailureStage",
    "ModelFailureDetails",
    "SandboxFailureDetails",
    "SdkErrorDetails",
    "validate_failure_event_map",
]

# The stage of a rollout that a failure belongs to; admission comes before seed.
FailureStage = Literal["admission", "seed", "agent", "verification", "cleanup"]


def _with_id(key: object, event: object) -> object:
    """Return an event of a report with its id, and one of Gym's own class as plain fields."""
    if isinstance(event, BaseModel) and not isinstance(event, FailureEvent):
        event = event.model_dump(mode="json")
    if isinstance(event, Mapping) and "event_id" not in event:
        return {**event, "event_id": key}
    return event


class FailureEvent(BaseModel):
    """One observed failure: who observed it, what failed, and which failure caused it.

    Readers count each failure once, by `event_id`. Texts have limits in characters.

    Attributes:
        event_id: The identity of the failure.
        failure_kind: What went wrong, a name that is not empty.
        boundary: Who observed it.
        failure_reason: Free text, at most 2,000.
        exception_type: Class name of the exception, at most 256.
        http_status: 100 to 599.
        stage: The stage of the rollout.
        operation: Name of the operation that failed, at most 256.
        operation_id: At most 128.
        attempt_id: At most 128.
        cause_id: The `event_id` of another failure in the same map, at most 128.
        foreign_error: The third-party error behind it, which is not a failure of its own.
        details: By the schema that `boundary` selects; other boundaries refuse details.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    event_id: str
    failure_kind: str
    boundary: FailureBoundary
    failure_reason: str = Field(default="", max_length=2000)
    exception_type: str | None = Field(default=None, max_length=256)
    http_status: int | None = Field(default=None, ge=100, le=599)
    stage: FailureStage | None = None
    operation: str | None = Field(default=None, max_length=256)
    operation_id: str | None = Field(default=None, max_length=128)
    attempt_id: str | None = Field(default=None, max_length=128)
    cause_id: str | None = Field(default=None, max_length=128)
    foreign_error: SdkErrorDetails | None = None
    details: FailureDetails | None = None

    @field_validator("failure_kind")
    @classmethod
    def _validate_failure_kind(cls, value: str) -> str:
        return checked_kind(value)

    @field_validator("details", mode="before")
    @classmethod
    def _validate_details(cls, value: object, info: ValidationInfo) -> FailureDetails | None:
        boundary = info.data.get("boundary")
        if value is None or boundary is None:
            return None
        schema = DETAILS_OF.get(boundary)
        if schema is None:
            raise ValueError(
                f"boundary {boundary.value!r} has no details; leave them out, "
                "only 'sandbox' and 'model' have some"
            )
        if isinstance(value, BaseModel) and not isinstance(value, schema):
            raise ValueError(
                f"details of boundary {boundary.value!r} must be {schema.__name__}, "
                f"not {type(value).__name__}"
            )
        return schema.model_validate(value)

    @model_serializer(mode="wrap")
    def _serialize_event(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_nulls(handler(self))


class FailureReport(BaseModel):
    """The failures that one reply forwards: its own, and all that were observed on the way.

    Attributes:
        events: By `event_id`. Every `cause_id` is in this map, and causes form no cycle.
        failure_id: The own failure, at most 128 characters, or None on success.
        omitted: True if events are missing, because a report on the way was too large to send.
    """

    model_config = ConfigDict(extra="forbid")

    events: dict[str, FailureEvent] = Field(default_factory=dict)
    failure_id: str | None = Field(default=None, max_length=128)
    omitted: bool = False

    @field_validator("events", mode="before")
    @classmethod
    def _restore_event_ids(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {key: _with_id(key, event) for key, event in value.items()}

    @field_validator("events")
    @classmethod
    def _validate_events(cls, value: dict[str, FailureEvent]) -> dict[str, FailureEvent]:
        validate_failure_event_map(value)
        return value

    @model_validator(mode="after")
    def _failure_id_is_an_event(self) -> Self:
        if self.failure_id is not None and self.failure_id not in self.events:
            raise ValueError(f"failure_id {self.failure_id!r} is not among the report's events")
        return self

    @model_serializer(mode="wrap")
    def _serialize_report(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = without_nulls(handler(self))
        for event in fields.get("events", {}).values():
            event.pop("event_id", None)
        return fields

    def merged(self, other: FailureReport) -> FailureReport:
        """Return this report with the events of `other` added.

        `failure_id` stays that of this report; `omitted` is true if either one's is. An id names
        one immutable record, so the first copy of an id is kept.
        """
        added = {key: event for key, event in other.events.items() if key not in self.events}
        return FailureReport(
            events={**self.events, **added},
            failure_id=self.failure_id,
            omitted=self.omitted or other.omitted,
        )


class EpisodeFailure(BaseModel):
    """The older envelope of one failed episode attempt.

    Attributes:
        failure_reason: At most 2,000 characters.
        terminal: True if the attempt must not be repeated. Nothing else decides that.
        failure_kind: None if the collector lost the reply and does not know it.
        stage: None for the same reason.
    """

    model_config = ConfigDict(extra="forbid")

    failure_reason: str = Field(max_length=2000)
    terminal: bool
    failure_kind: str | None = None
    stage: FailureStage | None = None

    @field_validator("failure_kind")
    @classmethod
    def _validate_failure_kind(cls, value: str | None) -> str | None:
        return value if value is None else checked_kind(value)

    @model_serializer(mode="wrap")
    def _serialize_failure(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        # Not `without_nulls`: a subclass keeps the nulls of its own fields.
        return {
            name: value
            for name, value in fields.items()
            if value is not None or name not in ("failure_kind", "stage")
        }


def validate_failure_event_map(events: Mapping[str, FailureEvent]) -> Mapping[str, FailureEvent]:
    """Check a map of failures and return it. Linear in the number of events, without recursion.

    Args:
        events: Each event by its `event_id`.

    Raises:
        ValueError: A key is not the event's id, a cause is not in the map, or causes form a cycle.
            The message names the first such event.
    """
    for key, event in events.items():
        if key != event.event_id:
            raise ValueError(
                f"key {key!r} must be the event_id of its event, which is {event.event_id!r}"
            )
        if event.cause_id is not None and event.cause_id not in events:
            raise ValueError(
                f"cause_id {event.cause_id!r} of event {key!r} is not in the map; add that event"
            )
    for key in cause_graph.closing_edges({key: event.cause_id for key, event in events.items()}):
        raise ValueError(f"cause_id {events[key].cause_id!r} of event {key!r} closes a cycle")
    return events


# Pickles name what is public, so that they outlive a module's place in the package.
for _public in (
    EpisodeFailure,
    FailureBoundary,
    FailureEvent,
    FailureReport,
    ModelFailureDetails,
    SandboxFailureDetails,
    SdkErrorDetails,
):
    _public.__module__ = "failgraph"
