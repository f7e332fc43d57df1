"""Failures as exceptions: `nemo_gym.core.typed_exceptions`, and the explicit chain that `raise … from` builds.

Only explicit causes count: `__cause__`, never `__context__`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from typing_extensions import Self

from failgraph import context
from failgraph.diagnostics import count, guard
from failgraph.exceptions import pickling
from failgraph.exceptions.cause_chain import (
    CARRIED_CAUSE,
    BoundaryFor,
    Observed,
    attribute,
    cause_of,
    event_id,
    explicit_cause,
    foreign_status,
    named_boundary,
    record_of,
)
from failgraph.failure.boundary import parse_boundary
from failgraph.failure.ids import new_event_id
from failgraph.failure.kinds import OTHER
from failgraph.failure.records import FailureBoundary, FailureEvent, SdkErrorDetails
from failgraph.failure.salvage import fields_of
from failgraph.redaction import redact, redact_and_truncate, redact_fields
from failgraph.settings import current
from failgraph.text import bounded_id, cut, escape_surrogates, safe_str

_Failure = TypeVar("_Failure", bound="NgFailureEvent")
_FIELDS = tuple(name for name in FailureEvent.model_fields if name != "event_id")


class NgFailureEvent(Exception):  # noqa: N818 - Gym's name
    """A failure that somebody observed: raised as an exception, recorded as a `FailureEvent`.

    The id is given at construction, and so is the place: the exception remembers its time, its span and its hop, so
    that it lands there wherever it is recorded. Raise it `from` what caused it; the cause may be another failure, or
    a foreign exception, whose type and message become `foreign_error`.

    The arguments are the fields of `FailureEvent`. The constructor raises on no value: what breaks the schema is cut or
    left out when the record is made.
    """

    failure_kind: str = OTHER
    failure_reason: str = ""
    http_status: int | None = None
    foreign_error: SdkErrorDetails | Mapping[str, Any] | None = None
    boundary: FailureBoundary | None = None
    stage: str | None = None
    operation: str | None = None
    operation_id: str | None = None
    attempt_id: str | None = None
    exception_type: str | None = None
    details: object = None
    cause_id: str | None = None
    event_id: str
    _birth: context.Birth | None
    _written: dict[int, None]
    _remote: bool
    _event: FailureEvent | None

    def __new__(cls, *args: object, **_: object) -> Self:
        """Give the failure its id and its place: here, since a subclass may forget to call `__init__`."""
        self = super().__new__(cls, *args)
        self.event_id = new_event_id()
        self._birth = None
        self._written = {}
        self._remote = False
        self._event = None
        with guard("birth"):
            self._birth = context.here()
            if self._birth.hop is not None:
                self._birth.hop.born(self)
        return self

    def __del__(self) -> None:
        """A failure that was handled and let go is one that somebody recovered from: its hop still wants to know."""
        birth = getattr(self, "_birth", None)
        if birth is None or self._event is not None or sys.is_finalizing():
            return
        with guard("letting a failure go"):
            if birth.hop is not None:
                birth.hop.let_go(self)
            elif self.__traceback__ is not None and current().enabled is not False:
                count("swallowed")  # where no hop is known: it is put into no trace by guessing

    def __init__(
        self,
        failure_kind: str,
        failure_reason: str = "",
        http_status: int | None = None,
        foreign_error: SdkErrorDetails | BaseException | Mapping[str, Any] | None = None,
        *,
        boundary: FailureBoundary | str | None = None,
        stage: str | None = None,
        operation: str | None = None,
        operation_id: str | None = None,
        attempt_id: str | None = None,
        exception_type: str | None = None,
        details: object = None,
        cause_id: str | None = None,
        event_id: str | None = None,
    ) -> None:
        super().__init__(failure_kind, failure_reason)
        self.failure_kind = failure_kind
        self.failure_reason = failure_reason
        self.http_status = http_status
        self.foreign_error = (
            sdk_error_details(foreign_error)
            if isinstance(foreign_error, BaseException)
            else foreign_error
        )
        self.boundary = parse_boundary(boundary)
        self.stage = stage
        self.operation = operation
        self.operation_id = operation_id
        self.attempt_id = attempt_id
        self.exception_type = exception_type
        self.details = details
        self.cause_id = cause_id
        given = "" if event_id is None else escape_surrogates(safe_str(event_id))
        if given:
            self.event_id = bounded_id(given)

    def __str__(self) -> str:
        reason = redact(safe_str(self.failure_reason))
        return f"{safe_str(self.failure_kind)}: {reason}" if reason else safe_str(self.failure_kind)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({safe_str(self.failure_kind)!r}, {redact(safe_str(self.failure_reason))!r})"

    def to_record(self, boundary: FailureBoundary | None = None) -> FailureEvent | None:
        """The record of this failure with its explicit cause.

        Where it names no boundary, `boundary` stands in, else the setting `FAILGRAPH_BOUNDARY`, else that of the Gym
        server that it is in, else there is no record: None. Never raises: text is sanitised and cut, and what breaks
        the schema is left out.
        """
        with guard("to_record"):
            boundary_for = named_or(boundary)
            cause, foreign = cause_of(self, boundary_for)
            return event_of(
                Observed(self, event_id(cause) if cause is not None else None, foreign),
                boundary_for,
            )
        return None

    @classmethod
    def from_record(cls, record: FailureEvent) -> NgFailureEvent:
        """The exception that `record` describes, observed elsewhere: a copy, never counted as a new failure."""
        fields = {name: getattr(record, name) for name in _FIELDS}
        error = cls(**fields)
        error.event_id = record.event_id
        error._birth = None
        error._remote = True
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        return _blank, (type(self),), pickling.flatten(self, _state)

    def __copy__(self) -> Self:
        copied = _restored(type(self).__new__(type(self)), _state(self) or {})
        copied.__cause__ = explicit_cause(self)
        copied._birth, copied._written, copied._event = (
            self._birth,
            dict(self._written),
            self._event,
        )
        return copied

    def __setstate__(self, nodes: list[pickling.Node]) -> None:  # type: ignore[override]
        if nodes[0].failure is not None:
            _restored(self, nodes[0].failure[1])
        pickling.restore(self, nodes, _made)


# `__new__` takes anything, for subclasses; what a caller gives is what `__init__` says.
_, *_parameters = inspect.signature(NgFailureEvent.__init__).parameters.values()
NgFailureEvent.__signature__ = inspect.Signature(_parameters)  # type: ignore[attr-defined]


def recorded_event(node: Observed) -> FailureEvent | None:
    """The record that was made of this exception when it was recorded first: an id names one immutable record."""
    return node.error._event if isinstance(node.error, NgFailureEvent) else None


def keep_event(node: Observed, event: FailureEvent) -> None:
    """Keep the record of this exception with it."""
    if isinstance(node.error, NgFailureEvent):
        node.error._event = event


def renew(node: Observed) -> None:
    """Make the exception a new failure, with an id and a place of its own: it was kept, and is raised once more."""
    error = node.error
    if isinstance(error, NgFailureEvent):
        error.event_id, error._event, error._written, error._birth = (
            new_event_id(),
            None,
            {},
            context.here(),
        )


class Remembered(NamedTuple):
    """What a failure exception remembers."""

    birth: context.Birth | None
    """Where it was made; None: elsewhere."""
    remote: bool
    """Whether it is a copy."""
    written: dict[int, None]
    """The traces that it is written to."""


def remembered(error: NgFailureEvent) -> Remembered:
    """What `error` remembers."""
    return Remembered(error._birth, error._remote, error._written)


def named_or(boundary: FailureBoundary | None) -> BoundaryFor:
    """The boundary that a failure names, else `boundary`, else the setting, else that of the Gym server it is in."""
    default = boundary or current().boundary or context.server_boundary()
    return lambda error: named_boundary(error) or default


def event_of(node: Observed, boundary_for: BoundaryFor) -> FailureEvent | None:
    """The record of a failure exception, ours or Gym's; an explicit cause wins over a `cause_id` given by hand."""
    fields = {} if isinstance(node.error, NgFailureEvent) else fields_of(record_of(node.error))
    fields = fields or {name: attribute(node.error, name) for name in _FIELDS}
    own_id = event_id(node.error) or new_event_id()
    fields["boundary"] = boundary_for(node.error)
    if node.cause_id is not None:
        fields["cause_id"] = node.cause_id
    if node.foreign is not None and fields.get("foreign_error") is None:
        fields["foreign_error"] = sdk_error_details(node.foreign)
    return redact_fields(own_id, fields)


def sdk_error_details(error: BaseException) -> SdkErrorDetails:
    """Type, message and HTTP status of a third-party error, without its request or body.

    The message is the error's own `message` where it has one, since `str()` of an SDK error can hold request data.
    """
    own = attribute(error, "message")
    message = escape_surrogates(own if isinstance(own, str) else safe_str(error))
    name = (
        error.exception_type
        if isinstance(error, pickling.LostCauseError)
        else type(error).__name__ or "Exception"
    )
    return SdkErrorDetails(
        exception_type=cut(escape_surrogates(name), 256),
        message=redact_and_truncate(message, 2000),
        http_status=foreign_status(error),
    )


def _blank(cls: type[NgFailureEvent]) -> NgFailureEvent:
    return cls.__new__(cls)


def _state(error: BaseException) -> dict[str, Any] | None:
    if not isinstance(error, NgFailureEvent):
        return None
    # The place is of this process, and so is where the failure was written.
    own = {**vars(error), "_birth": None, "_written": {}, "_event": None, CARRIED_CAUSE: None}
    return {"args": error.args, "vars": own, "suppress": error.__suppress_context__}


def _restored(error: _Failure, state: dict[str, Any]) -> _Failure:
    error.args = state["args"]
    vars(error).update(state["vars"])
    error.__suppress_context__ = state["suppress"]
    return error


def _made(cls: type[BaseException], state: dict[str, Any]) -> BaseException:
    return _restored(_blank(cls), state) if issubclass(cls, NgFailureEvent) else cls()
