"""What somebody hands to `record`, as records: an event, an exception with its causes, the members of a group."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel

from failgraph.chain import (
    RECORDED_ID,
    BoundaryFor,
    cause_of,
    event_id,
    foreign_status,
    is_failure,
    members,
    named_boundary,
    observed,
    outermost,
    recorded_id,
)
from failgraph.context import Birth
from failgraph.diagnostics import count, warn_once
from failgraph.exceptions import NgFailureEvent, event_of, named_or, remembered, sdk_error_details
from failgraph.ids import new_event_id
from failgraph.kinds import kind_of
from failgraph.records import FailureBoundary, FailureEvent
from failgraph.salvage import boundary_of, fields_of, salvage
from failgraph.settings import current
from failgraph.text import safe_str


class Hints(NamedTuple):
    """What the caller of `record` knows; it fills only what the failure does not say itself."""

    boundary: FailureBoundary | str | None = None
    kind: str | None = None
    stage: str | None = None
    reason: str | None = None


class Observation(NamedTuple):
    """One failure to be written."""

    event: FailureEvent
    birth: Birth
    remote: bool = False
    """Observed elsewhere, and known here from a report only."""
    written: set[int] | None = None
    """The traces (ids) that the exception itself was written to, kept by the exception."""


class Observations(NamedTuple):
    """Failures, causes first, and which of them is the outermost."""

    all: tuple[Observation, ...] = ()
    outermost_id: str | None = None


def observe(failure: object, hints: Hints, now: Birth) -> Observations:
    """The records of `failure`; none where it is no failure at all, or misses a boundary or a kind."""
    if isinstance(failure, BaseModel) and any(cls.__name__ == "FailureEvent" for cls in type(failure).__mro__):
        event = _of_record(failure, hints)
        return Observations((Observation(event, now),), event.event_id) if event is not None else Observations()
    if isinstance(failure, BaseException):
        return _of_exception(failure, hints, now)
    count("wrong_type")
    name = type(failure).__name__
    warn_once(
        f"type:{name}", "failgraph: record() takes a FailureEvent or an exception, not %s; nothing is recorded", name
    )
    return Observations()


def _of_record(record: BaseModel, hints: Hints) -> FailureEvent | None:
    given = getattr(record, "event_id", None)
    if isinstance(record, FailureEvent) and hints == Hints():
        return record
    fields = fields_of(record)
    event, losses = salvage(given if isinstance(given, str) and given else new_event_id(), _filled(fields, hints))
    for loss in losses:
        count(f"record_{loss.kind}")
    return event


def _filled(fields: dict[str, object], hints: Hints) -> dict[str, object]:
    for name, value in (
        ("boundary", hints.boundary),
        ("failure_kind", hints.kind),
        ("stage", hints.stage),
        ("failure_reason", hints.reason),
    ):
        if value is not None and not fields.get(name):
            fields[name] = value
    return fields


def _of_exception(error: BaseException, hints: Hints, now: Birth) -> Observations:
    """`error` with its explicit causes, or the members of a group with theirs."""
    found: dict[str, Observation] = {}
    first: str | None = None
    for part in members(error) or (error,):
        inner = _of_exception(part, hints, now) if members(part) else _of_one(part, hints, now)
        found.update((observation.event.event_id, observation) for observation in inner.all)
        first = first or inner.outermost_id
    return Observations(tuple(found.values()), first)


def _of_one(error: BaseException, hints: Hints, now: Birth) -> Observations:
    setting = current().boundary
    hint = boundary_of(hints.boundary)

    def boundary_for(failure: BaseException) -> FailureBoundary | None:
        return named_boundary(failure) or (hint if failure is error else None) or setting

    below = _failures(error, boundary_for, hints, now)
    if is_failure(error) and boundary_for(error) is None:
        count("no_boundary")
    if not is_failure(error):
        own = _foreign(error, hints, hint or setting, cause_of(error, boundary_for))
        if own is not None:
            return Observations((*below, Observation(own, now)), own.event_id)
    top = outermost(error, boundary_for)
    return Observations(below, event_id(top) if top is not None else None)


def escaping(error: BaseException, now: Birth) -> Observations:
    """The failures that leave with `error`: those of its explicit chain; the exception itself only where it is one.

    The outermost may be a foreign exception that was recorded before; it is then not among them.
    """
    boundary_for = named_or(None)
    top = outermost(error, boundary_for, with_recorded=True)
    return Observations(_failures(error, boundary_for, Hints(), now), event_id(top) if top is not None else None)


def _failures(error: BaseException, boundary_for: BoundaryFor, hints: Hints, now: Birth) -> tuple[Observation, ...]:
    """The failures of the explicit chain of `error`, causes first; `hints` are of `error` itself."""
    found: list[Observation] = []
    for node in observed(error, boundary_for):
        event = event_of(node, boundary_for)
        if event is not None and node.error is error:
            event = _of_record(event, hints._replace(boundary=None, kind=None))
        if event is not None:
            found.append(_born(node.error, event, now))
    return tuple(found)


def _born(error: BaseException, event: FailureEvent, now: Birth) -> Observation:
    if not isinstance(error, NgFailureEvent):
        return Observation(event, now)
    birth, remote, written = remembered(error)
    if birth is None:
        birth = now
    elif birth.span is None or birth.hop is None:
        birth = Birth(birth.time_unix_nano, birth.span or now.span, birth.hop or now.hop)
    return Observation(event, birth, remote, written)


def _foreign(
    error: BaseException,
    hints: Hints,
    boundary: FailureBoundary | None,
    cause: tuple[BaseException | None, BaseException | None],
) -> FailureEvent | None:
    """A foreign exception as a failure; it keeps its event id, so that it is one failure however often it is seen."""
    kind = hints.kind or kind_of(error)
    if boundary is None or kind is None:
        count("no_boundary" if boundary is None else "no_kind")
        return None
    own_id = recorded_id(error)
    if own_id is None:
        own_id = new_event_id()
        try:
            setattr(error, RECORDED_ID, own_id)
        except (AttributeError, TypeError):
            count("unmarked")
    effect, foreign = cause
    fields = {
        "boundary": boundary,
        "failure_kind": kind,
        "failure_reason": safe_str(error) if hints.reason is None else hints.reason,
        "stage": hints.stage,
        "exception_type": type(error).__name__,
        "http_status": foreign_status(error),
        "cause_id": event_id(effect) if effect is not None else None,
        "foreign_error": None if foreign is None else sdk_error_details(foreign),
    }
    event, losses = salvage(own_id, fields)
    for loss in losses:
        count(f"record_{loss.kind}")
    return event
