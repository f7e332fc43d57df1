"""`NgFailureEvent`, a failure as an exception, as in `nemo_gym.core.typed_exceptions`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from typing_extensions import Self

from failgraph.context import Moment, current_moment
from failgraph.diagnostics import count, guard
from failgraph.exceptions import pickling
from failgraph.exceptions.boundaries import boundary_or_default, warn_of_unknown_boundary
from failgraph.exceptions.cause_chain import (
    CARRIED_CAUSE,
    UNKNOWN_BOUNDARY,
    BoundaryFor,
    ChainedFailure,
    cause_of,
    event_id,
    explicit_cause,
    gym_record,
)
from failgraph.exceptions.foreign_errors import safe_getattr, sdk_error_details
from failgraph.failure.boundary import parse_boundary
from failgraph.failure.ids import new_event_id
from failgraph.failure.kinds import OTHER
from failgraph.failure.records import FailureBoundary, FailureEvent, SdkErrorDetails
from failgraph.failure.salvage import fields_of
from failgraph.redaction import redact, redact_fields
from failgraph.settings import current
from failgraph.text import bounded_id, escape_surrogates, safe_str

if TYPE_CHECKING:
    _Failure = TypeVar("_Failure", bound="NgFailureEvent")

_FIELDS = tuple(name for name in FailureEvent.model_fields if name != "event_id")


class NgFailureEvent(Exception):  # noqa: N818 - Gym's name
    """A failure that was observed: raised as an exception, recorded as a `FailureEvent`.

    The event id is given at construction. The exception also remembers when it was created and in
    which span and hop, so that it is written there, wherever it is recorded. Raise it `from` its
    cause: another failure, or a foreign exception, whose type and message become `foreign_error`.

    The constructor raises on no value: what breaks the schema is cut or left out of the record.

    Args:
        failure_kind: What went wrong: a registered kind, or any other non-empty text.
        failure_reason: Free text, redacted and cut to 2,000 characters in the record.
        http_status: 100 to 599.
        foreign_error: A third-party error, or what is kept of it.
        boundary: Who observed the failure. Without one, the setting `FAILGRAPH_BOUNDARY` stands in,
            then the type of the Gym server that the code runs in.
        stage: The stage of the rollout.
        operation: What was being done.
        operation_id: An id of that operation.
        attempt_id: An id of the attempt.
        exception_type: The class of the original exception.
        details: `SandboxFailureDetails` or `ModelFailureDetails`, or a mapping of their fields.
        cause_id: The event id of the cause; an explicit `__cause__` takes precedence.
        event_id: An id to use in place of a new one.
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
    _birth: Moment | None
    _written: dict[int, None]
    _remote: bool
    _event: FailureEvent | None

    def __new__(cls, *args: object, **_: object) -> Self:
        """Give the failure its id and place; a subclass may forget to call `__init__`."""
        self = super().__new__(cls, *args)
        self.event_id = new_event_id()
        self._birth = None
        self._written = {}
        self._remote = False
        self._event = None
        with guard("creating a failure"):
            self._birth = current_moment()
            if self._birth.hop is not None:
                self._birth.hop.on_failure_created(self)
        return self

    def __del__(self) -> None:
        """Tell the hop of a failure that was handled and never recorded: somebody recovered."""
        birth = getattr(self, "_birth", None)
        if birth is None or self._event is not None or sys.is_finalizing():
            return
        with guard("freeing a failure"):
            if birth.hop is not None:
                birth.hop.on_failure_dropped(self)
            elif self.__traceback__ is not None and current().enabled is not False:
                count("swallowed")  # its trace is unknown: it is not put into one by guessing

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
        if isinstance(foreign_error, BaseException):
            foreign_error = sdk_error_details(foreign_error)
        self.failure_kind = failure_kind
        self.failure_reason = failure_reason
        self.http_status = http_status
        self.foreign_error = foreign_error
        self.boundary = parse_boundary(boundary)
        if self.boundary is None and boundary is not None:
            vars(self)[UNKNOWN_BOUNDARY] = safe_str(boundary)
        self.stage = stage
        self.operation = operation
        self.operation_id = operation_id
        self.attempt_id = attempt_id
        self.exception_type = exception_type
        self.details = details
        self.cause_id = cause_id
        given_id = "" if event_id is None else escape_surrogates(safe_str(event_id))
        if given_id:
            self.event_id = bounded_id(given_id)

    def __str__(self) -> str:
        kind, reason = safe_str(self.failure_kind), redact(safe_str(self.failure_reason))
        return f"{kind}: {reason}" if reason else kind

    def __repr__(self) -> str:
        kind, reason = safe_str(self.failure_kind), redact(safe_str(self.failure_reason))
        return f"{type(self).__name__}({kind!r}, {reason!r})"

    def to_record(self, boundary: FailureBoundary | None = None) -> FailureEvent | None:
        """Return the record of this failure with its explicit cause. Never raises.

        Text is sanitized, redacted and cut, and what breaks the schema is left out.

        Args:
            boundary: Stands in if the failure names none; else the setting `FAILGRAPH_BOUNDARY`,
                else the type of the Gym server that the code runs in.

        Returns:
            The record, or None if no boundary is known.
        """
        with guard("to_record"):
            boundary_for = boundary_or_default(boundary)
            failure, foreign = cause_of(self, boundary_for)
            cause_id = None if failure is None else event_id(failure)
            return record_of(ChainedFailure(self, cause_id, foreign), boundary_for)
        return None

    @classmethod
    def from_record(cls, record: FailureEvent) -> NgFailureEvent:
        """Return the exception that `record` describes.

        It was observed elsewhere, so it is a copy and never counts as a new failure.
        """
        fields = {name: getattr(record, name) for name in _FIELDS}
        error = cls(**fields)
        error.event_id = record.event_id
        error._birth = None
        error._remote = True
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickle_failure, (type(self),), pickling.flatten(self, _state_of)

    def __copy__(self) -> Self:
        copied = _with_state(type(self).__new__(type(self)), _state_of(self) or {})
        copied.__cause__ = explicit_cause(self)
        copied._birth, copied._event = self._birth, self._event
        copied._written = dict(self._written)
        return copied

    def __setstate__(self, nodes: Sequence[tuple[Any, ...]]) -> None:  # type: ignore[override]
        failure = nodes[0][0]
        if failure is not None:
            _with_state(self, failure[1])
        pickling.restore(self, nodes, _make_failure)


# `__new__` accepts anything, for subclasses; callers see the signature of `__init__`.
_, *_parameters = inspect.signature(NgFailureEvent.__init__).parameters.values()
NgFailureEvent.__signature__ = inspect.Signature(_parameters)  # type: ignore[attr-defined]


class Remembered(NamedTuple):
    """What a failure exception remembers of itself.

    Attributes:
        birth: Where it was created; None if that was elsewhere.
        is_remote: True for a copy of a failure that was observed elsewhere.
        written: The ids of the traces that it was written to.
        event: The record that was made of it first, or None. An id names one immutable record.
    """

    birth: Moment | None
    is_remote: bool
    written: dict[int, None]
    event: FailureEvent | None


def remembered(error: NgFailureEvent) -> Remembered:
    """Return what `error` remembers."""
    return Remembered(error._birth, error._remote, error._written, error._event)


def remember_event(error: NgFailureEvent, event: FailureEvent) -> None:
    """Keep the record of a failure with the exception."""
    error._event = event


def renew(error: NgFailureEvent) -> None:
    """Make a kept exception that is raised again a new failure, with a new id and place."""
    error.event_id, error._event, error._written = new_event_id(), None, {}
    error._birth = current_moment()


def record_of(failure: ChainedFailure, boundary_for: BoundaryFor) -> FailureEvent | None:
    """Return the record of a failure exception, ours or Gym's, or None if it has no boundary.

    An explicit cause takes precedence over a `cause_id` that was given by hand.
    """
    error = failure.error
    fields = {} if isinstance(error, NgFailureEvent) else fields_of(gym_record(error))
    if not fields:
        fields = {name: safe_getattr(error, name) for name in _FIELDS}
    is_named = type(fields.get("boundary")) is FailureBoundary
    fields["boundary"] = boundary = boundary_for(error)
    if boundary is not None and not is_named:
        warn_of_unknown_boundary(error, boundary)
    if failure.cause_id is not None:
        fields["cause_id"] = failure.cause_id
    if failure.foreign is not None and fields.get("foreign_error") is None:
        fields["foreign_error"] = sdk_error_details(failure.foreign)
    return redact_fields(event_id(error) or new_event_id(), fields)


def unpickle_failure(cls: type[NgFailureEvent]) -> NgFailureEvent:
    """Return a blank failure for pickle to fill: the one function that our pickles name."""
    return cls.__new__(cls)


# Pickles name what is public, so that they outlive a module's place in the package.
NgFailureEvent.__module__ = unpickle_failure.__module__ = "failgraph"


def _state_of(error: BaseException) -> pickling.State | None:
    if not isinstance(error, NgFailureEvent):
        return None
    # The place, and the traces that it was written to, belong to this process.
    process_state: dict[str, Any] = {
        "_birth": None,
        "_written": {},
        "_event": None,
        CARRIED_CAUSE: None,
    }
    return {
        "args": error.args,
        "vars": {**vars(error), **process_state},
        "suppress": error.__suppress_context__,
    }


def _with_state(error: _Failure, state: pickling.State) -> _Failure:
    error.args = state["args"]
    vars(error).update(state["vars"])
    error.__suppress_context__ = state["suppress"]
    return error


def _make_failure(cls: type[BaseException], state: pickling.State) -> BaseException:
    if issubclass(cls, NgFailureEvent):
        return _with_state(unpickle_failure(cls), state)
    return cls()
