"""What somebody hands to `record`, as records: an event, an exception with its causes, the members of a group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeGuard

from pydantic import BaseModel

from failgraph.context import Birth, server_boundary
from failgraph.diagnostics import count, warn_once
from failgraph.exceptions.cause_chain import (
    RECORDED_ID,
    BoundaryFor,
    Observed,
    attribute,
    cause_of,
    event_id,
    foreign_status,
    is_cancellation,
    is_failure,
    leaves,
    named_boundary,
    observed,
    outermost,
    recorded_id,
    unplaced,
)
from failgraph.exceptions.failure_exception import (
    NgFailureEvent,
    event_of,
    keep_event,
    named_or,
    recorded_event,
    remembered,
    renew,
    sdk_error_details,
)
from failgraph.failure.boundary import parse_boundary
from failgraph.failure.ids import new_event_id
from failgraph.failure.kinds import OTHER, UNHANDLED, kind_of
from failgraph.failure.records import FailureBoundary, FailureEvent
from failgraph.failure.salvage import fields_of
from failgraph.redaction import redact_event, redact_fields
from failgraph.settings import current
from failgraph.text import safe_str

_TOLD = "_failgraph_told"
"""Attribute of a failure that cannot be recorded: it was counted."""


class Hints(NamedTuple):
    """What the caller of `record` knows; it fills only what the failure does not say itself."""

    boundary: FailureBoundary | str | None = None
    kind: str | None = None
    stage: str | None = None
    reason: str | None = None
    otherwise: str | None = None
    """The kind where neither the failure, nor `kind`, nor its type says one."""


NO_HINTS = Hints()


class Observation(NamedTuple):
    """One failure to be written."""

    event: FailureEvent
    birth: Birth
    remote: bool = False
    """Observed elsewhere, and known here from a report only."""
    written: dict[int, None] | None = None
    """The traces (ids) that the exception itself was written to, kept by the exception."""
    at_once: bool = False
    """To be exported now, and not with its span, which may not end for a long time."""


class Observations(NamedTuple):
    """Failures, causes first, and which of them is the outermost."""

    all: tuple[Observation, ...] = ()
    outermost_id: str | None = None


def observe(failure: object, hints: Hints, now: Birth) -> Observations:
    """The records of `failure`; none where it is no failure at all, or misses a boundary or a kind."""
    if isinstance(failure, FailureEvent) or _is_record(failure):
        event = _of_record(failure, hints)
        return (
            Observations((Observation(event, now),), event.event_id)
            if event is not None
            else Observations()
        )
    if isinstance(failure, BaseException):
        return _of_exception(failure, hints, now)
    count("wrong_type")
    name = type(failure).__name__
    warn_once(
        f"type:{name}",
        "failgraph: record() takes a FailureEvent or an exception, not %s; nothing is recorded",
        name,
    )
    return Observations()


def _is_record(failure: object) -> TypeGuard[BaseModel]:
    """Whether it is a record of Gym's own class."""
    return isinstance(failure, BaseModel) and any(
        cls.__name__ == "FailureEvent" for cls in type(failure).__mro__
    )


def _of_record(record: BaseModel, hints: Hints) -> FailureEvent | None:
    if isinstance(record, FailureEvent) and hints == NO_HINTS:
        return redact_event(record)
    given = getattr(record, "event_id", None)
    own_id = given if isinstance(given, str) and given else new_event_id()
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


def _of_exception(error: BaseException, hints: Hints, now: Birth) -> Observations:
    """`error` with its explicit causes, or the members of a group with theirs; `hints` are of it, or of each member."""
    handed = leaves(error)
    own = {id(leaf) for leaf in handed}
    setting, hint = current().boundary or server_boundary(), parse_boundary(hints.boundary)

    def boundary_for(failure: BaseException) -> FailureBoundary | None:
        return named_boundary(failure) or (hint if id(failure) in own else None) or setting

    found = list(_failures(error, boundary_for, hints, now, own))
    ids: list[str] = []
    for leaf in handed:
        foreign = (
            None
            if is_failure(leaf)
            else _foreign(leaf, hints, hint or setting, cause_of(leaf, boundary_for))
        )
        if foreign is not None:
            found.append(Observation(foreign, now))
            ids.append(foreign.event_id)
        else:
            top = outermost(leaf, boundary_for)
            ids += [event_id(top) or ""] if top is not None else []
    return Observations(tuple(found), next(iter(ids), None))


def escaping(error: BaseException, now: Birth, *, foreign: bool = True) -> Observations:
    """The failures that leave with `error`: those of its explicit chain; the exception itself only where it is one.

    Under `FAILGRAPH_CAPTURE=all` it is one without any in its chain, too. The outermost may be a foreign exception that
    was recorded before; it is then not among them.
    """
    boundary_for = named_or(None)
    top = outermost(error, boundary_for, with_recorded=True)
    is_any = (
        foreign
        and current().capture == "all"
        and (isinstance(error, Exception) or is_cancellation(error))
    )
    if top is None and is_any:
        return _of_exception(error, Hints(otherwise=UNHANDLED), now)
    found = _failures(error, boundary_for, NO_HINTS, now, set())
    return Observations(tuple(found), event_id(top) if top is not None else None)


def _failures(
    error: BaseException, boundary_for: BoundaryFor, hints: Hints, now: Birth, handed: set[int]
) -> Iterator[Observation]:
    """The failures of the explicit chain of `error`, causes first; `hints` are of the exceptions `handed` in."""
    for lost in unplaced(error, boundary_for):
        if not vars(lost).get(_TOLD):  # it passes here once a span
            vars(lost)[_TOLD] = True
            _say_missing(lost, hints, "boundary")
    for node in _anew(error, boundary_for):
        event = recorded_event(node) or event_of(node, boundary_for)
        if event is not None and id(node.error) in handed and hints != NO_HINTS:
            kind = None if attribute(node.error, "failure_kind") else hints.kind
            event = _of_record(event, hints._replace(boundary=None, kind=kind))
        if event is not None:
            keep_event(node, event)
            yield _born(node.error, event, now)


def _anew(error: BaseException, boundary_for: BoundaryFor) -> list[Observed]:
    """The failures of the chain, causes first; one that is raised again from another cause is a new failure."""
    nodes = observed(error, boundary_for)
    renewed = False
    for node in nodes:
        event = recorded_event(node)
        if (
            event is not None
            and event.cause_id
            and node.cause_id
            and event.cause_id != node.cause_id
        ):
            renew(node)
            renewed = True
    return observed(error, boundary_for) if renewed else nodes


def _born(error: BaseException, event: FailureEvent, now: Birth) -> Observation:
    if not isinstance(error, NgFailureEvent):
        return Observation(event, now)
    birth, remote, written = remembered(error)
    if birth is None:
        birth = now
    elif birth.span is None or birth.hop is None:
        birth = Birth(birth.time_unix_nano, birth.span or now.span, birth.hop or now.hop)
    return Observation(event, birth, remote, written)


def _say_missing(error: BaseException, hints: Hints, what: str) -> None:
    """Count a failure that cannot be recorded, and say once a type what it misses."""
    count(f"no_{what}")
    name = type(error).__name__
    choices = ", ".join(each.value for each in FailureBoundary)
    given = "" if hints.boundary is None else f" (given {safe_str(hints.boundary)[:40]!a})"
    how = "set FAILGRAPH_BOUNDARY to" if hints.otherwise is not None else "give record()"
    fix = f"{how} one of {choices}{given}" if what == "boundary" else "give record() a kind"
    warn_once(
        f"{what}:{name}", "failgraph: %s names no %s and is not recorded; %s", name, what, fix
    )


def _foreign(
    error: BaseException,
    hints: Hints,
    boundary: FailureBoundary | None,
    cause: tuple[BaseException | None, BaseException | None],
) -> FailureEvent | None:
    """A foreign exception as a failure; it keeps its event id, so that it is one failure however often it is seen."""
    kind = hints.kind or kind_of(error) or hints.otherwise
    if boundary is None or kind is None:
        _say_missing(error, hints, "boundary" if boundary is None else "kind")
        return None
    own_id = recorded_id(error)
    if own_id is None:
        own_id = new_event_id()
        try:
            # Not by setattr: a class of the user's may refuse it, or do something of its own.
            vars(error)[RECORDED_ID] = own_id
        except TypeError:
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
    return redact_fields(own_id, fields)
