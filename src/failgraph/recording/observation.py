"""Turn what `record` was given into records: an event, an exception with its causes, a group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeGuard

from pydantic import BaseModel

from failgraph.context import Moment, server_boundary
from failgraph.diagnostics import count, warn_once
from failgraph.exceptions.boundaries import boundary_or_default, warn_of_unknown_boundary
from failgraph.exceptions.cause_chain import (
    RECORDED_ID,
    BoundaryFor,
    Cause,
    ChainedFailure,
    cause_of,
    event_id,
    failures_in_chain,
    failures_without_boundary,
    is_cancellation,
    is_failure,
    leaf_exceptions,
    named_boundary,
    outermost_failure,
    recorded_id,
)
from failgraph.exceptions.failure_exception import (
    NgFailureEvent,
    record_of,
    remember_event,
    remembered,
    renew,
)
from failgraph.exceptions.foreign_errors import http_status_of, safe_getattr, sdk_error_details
from failgraph.failure.boundary import parse_boundary
from failgraph.failure.ids import new_event_id
from failgraph.failure.kinds import OTHER, UNHANDLED, kind_of
from failgraph.failure.records import FailureBoundary, FailureEvent
from failgraph.failure.salvage import fields_of
from failgraph.redaction import redact_event, redact_fields
from failgraph.settings import current
from failgraph.text import safe_str

_REPORTED_MISSING = "_failgraph_missing"
"""Attribute of a failure that cannot be recorded: it was counted."""


class Hints(NamedTuple):
    """What the caller of `record` adds; it fills only what the failure does not say itself.

    Attributes:
        fallback_kind: The kind if neither the failure, nor `kind`, nor the exception's type names
            one.
    """

    boundary: FailureBoundary | str | None = None
    kind: str | None = None
    stage: str | None = None
    reason: str | None = None
    fallback_kind: str | None = None


NO_HINTS = Hints()


class Observation(NamedTuple):
    """One failure to be written.

    Attributes:
        event: Its record.
        birth: Where it was created, or met.
        is_remote: True if it was observed elsewhere and is known from a report only.
        written: The ids of the traces that it was written to, kept by its exception; None without
            one.
        is_urgent: True if it is to be exported at once, not with its span, which may not end soon.
    """

    event: FailureEvent
    birth: Moment
    is_remote: bool = False
    written: dict[int, None] | None = None
    is_urgent: bool = False


class Observations(NamedTuple):
    """Failures, causes first, and the event id of the outermost one."""

    all: tuple[Observation, ...] = ()
    outermost_id: str | None = None


def observe(failure: object, hints: Hints, now: Moment) -> Observations:
    """Return the records of `failure`; empty if it is no failure, or lacks a boundary or a kind."""
    if isinstance(failure, FailureEvent) or _is_gym_record(failure):
        event = _from_record(failure, hints)
        if event is None:
            return Observations()
        return Observations((Observation(event, now),), event.event_id)
    if isinstance(failure, BaseException):
        return _from_exception(failure, hints, now)
    count("wrong_type")
    name = type(failure).__name__
    message = (
        "failgraph: record() takes a FailureEvent or an exception, not %s; nothing is recorded"
    )
    warn_once(f"type:{name}", message, name)
    return Observations()


def observe_escaping(
    error: BaseException, now: Moment, *, allow_foreign: bool = True
) -> Observations:
    """Return the failures that leave with `error`: those of its explicit chain.

    Under `FAILGRAPH_CAPTURE=all` an exception without a failure in its chain is one itself. The
    outermost failure may be a foreign exception that was recorded before; then it is not among
    them.

    Args:
        error: What leaves.
        now: Where it leaves.
        allow_foreign: False if the setting is not to make a failure of a foreign exception.
    """
    boundary_for = boundary_or_default(None)
    outermost = outermost_failure(error, boundary_for, with_recorded=True)
    captures = allow_foreign and current().capture == "all"
    if outermost is None and captures and _is_capturable(error):
        return _from_exception(error, Hints(fallback_kind=UNHANDLED), now)
    observations = tuple(_failures(error, boundary_for, NO_HINTS, now, set()))
    return Observations(observations, None if outermost is None else event_id(outermost))


def _is_capturable(error: BaseException) -> bool:
    return isinstance(error, Exception) or is_cancellation(error)


def _is_gym_record(failure: object) -> TypeGuard[BaseModel]:
    if not isinstance(failure, BaseModel):
        return False
    return any(cls.__name__ == "FailureEvent" for cls in type(failure).__mro__)


def _from_record(record: BaseModel, hints: Hints) -> FailureEvent | None:
    if isinstance(record, FailureEvent) and hints == NO_HINTS:
        return redact_event(record)
    given_id = getattr(record, "event_id", None)
    own_id = given_id if isinstance(given_id, str) and given_id else new_event_id()
    return redact_fields(own_id, _filled(fields_of(record), hints))


def _filled(fields: dict[str, object], hints: Hints) -> dict[str, object]:
    for name, value in (
        ("boundary", hints.boundary),
        ("failure_kind", hints.kind),
        ("stage", hints.stage),
        ("failure_reason", hints.reason),
    ):
        if value is not None and fields.get(name) in (None, "", OTHER):
            fields[name] = value
    return fields


def _from_exception(error: BaseException, hints: Hints, now: Moment) -> Observations:
    """Return `error` with its explicit causes; of a group, each member with its own.

    The hints are for `error`, or for each member of the group.
    """
    leaves = leaf_exceptions(error)
    leaf_ids = {id(leaf) for leaf in leaves}
    default, hint = current().boundary or server_boundary(), parse_boundary(hints.boundary)

    def boundary_for(failure: BaseException) -> FailureBoundary | None:
        named = named_boundary(failure)
        if named is None and id(failure) in leaf_ids:
            named = hint
        return named or default

    observations = list(_failures(error, boundary_for, hints, now, leaf_ids))
    outermost_ids: list[str] = []
    for leaf in leaves:
        event = None
        if not is_failure(leaf):
            event = _from_foreign(leaf, hints, hint or default, cause_of(leaf, boundary_for))
        if event is not None:
            observations.append(Observation(event, now))
            outermost_ids.append(event.event_id)
            continue
        outermost = outermost_failure(leaf, boundary_for)
        if outermost is not None:
            outermost_ids.append(event_id(outermost) or "")
    return Observations(tuple(observations), next(iter(outermost_ids), None))


def _failures(
    error: BaseException, boundary_for: BoundaryFor, hints: Hints, now: Moment, hinted: set[int]
) -> Iterator[Observation]:
    """Yield the failures of the explicit chain of `error`, causes first.

    The hints are for the exceptions whose `id()` is in `hinted`. They have no effect on a failure
    that was observed before: its id names the record that was made then.
    """
    for missing in failures_without_boundary(error, boundary_for):
        if not vars(missing).get(_REPORTED_MISSING):  # it passes here once for each span
            vars(missing)[_REPORTED_MISSING] = True
            _report_missing(missing, hints, "boundary")
    for failure in _renewed_chain(error, boundary_for):
        known = _remembered_event(failure.error)
        event = known or record_of(failure, boundary_for)
        if known is None and event and id(failure.error) in hinted and hints != NO_HINTS:
            kind = None if safe_getattr(failure.error, "failure_kind") else hints.kind
            event = _from_record(event, hints._replace(boundary=None, kind=kind))
        if event is None:
            continue
        if isinstance(failure.error, NgFailureEvent):
            remember_event(failure.error, event)
        yield _with_birth(failure.error, event, now)


def _renewed_chain(error: BaseException, boundary_for: BoundaryFor) -> list[ChainedFailure]:
    """Return the failures of the chain; one that was raised again from another cause is new."""
    chain = failures_in_chain(error, boundary_for)
    is_changed = False
    for failure in chain:
        event = _remembered_event(failure.error)
        if event is None or not event.cause_id or not failure.cause_id:
            continue
        if event.cause_id != failure.cause_id and isinstance(failure.error, NgFailureEvent):
            renew(failure.error)
            is_changed = True
    return failures_in_chain(error, boundary_for) if is_changed else chain


def _remembered_event(error: BaseException) -> FailureEvent | None:
    return remembered(error).event if isinstance(error, NgFailureEvent) else None


def _with_birth(error: BaseException, event: FailureEvent, now: Moment) -> Observation:
    if not isinstance(error, NgFailureEvent):
        return Observation(event, now)
    birth, is_remote, written, _ = remembered(error)
    if birth is None:
        birth = now
    elif birth.span is None or birth.hop is None:
        birth = Moment(birth.time_unix_nano, birth.span or now.span, birth.hop or now.hop)
    return Observation(event, birth, is_remote, written)


def _from_foreign(
    error: BaseException, hints: Hints, boundary: FailureBoundary | None, cause: Cause
) -> FailureEvent | None:
    """Return a foreign exception as a failure; it keeps its event id, however often it is seen."""
    kind = hints.kind or kind_of(error) or hints.fallback_kind
    if boundary is None or kind is None:
        _report_missing(error, hints, "boundary" if boundary is None else "kind")
        return None
    fields = {
        "boundary": boundary,
        "failure_kind": kind,
        "failure_reason": safe_str(error) if hints.reason is None else hints.reason,
        "stage": hints.stage,
        "exception_type": type(error).__name__,
        "http_status": http_status_of(error),
        "cause_id": None if cause.failure is None else event_id(cause.failure),
        "foreign_error": None if cause.foreign is None else sdk_error_details(cause.foreign),
    }
    return redact_fields(_id_of_foreign(error), fields)


def _id_of_foreign(error: BaseException) -> str:
    known_id = recorded_id(error)
    if known_id is not None:
        return known_id
    own_id = new_event_id()
    try:
        # Not by setattr: a class of the user may refuse it, or do something of its own.
        vars(error)[RECORDED_ID] = own_id
    except TypeError:
        count("unmarked")
    return own_id


def _report_missing(error: BaseException, hints: Hints, what: str) -> None:
    """Count a failure that cannot be recorded, and log once for each type what it lacks."""
    count(f"no_{what}")
    if what == "boundary" and is_failure(error) and warn_of_unknown_boundary(error, None):
        return
    name = type(error).__name__
    fix = "pass kind= to record()"
    if what == "boundary":
        choices = ", ".join(each.value for each in FailureBoundary)
        given = "" if hints.boundary is None else f", not {safe_str(hints.boundary)[:40]!a}"
        how = "set FAILGRAPH_BOUNDARY to" if hints.fallback_kind else "pass boundary= to record():"
        fix = f"{how} one of {choices}{given}"
    warn_once(f"{what}:{name}", "failgraph: %s has no %s and is not recorded; %s", name, what, fix)
