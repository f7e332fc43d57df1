"""Records to attributes. What must survive stands last: the SDK keeps the last N attributes of an event."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from failgraph import semconv
from failgraph.codec.attributes import (
    SURELY_SHORT,
    Attributes,
    int_attributes,
    text_attributes,
    text_bytes,
)
from failgraph.failure import cause_graph
from failgraph.failure.kinds import OTHER, fits_pattern
from failgraph.failure.records import FailureEvent, FailureReport, SandboxFailureDetails


class Limits(NamedTuple):
    """What a provider allows; None is no limit."""

    attributes: int | None = None
    """Attributes of one event, or free places on one span."""
    value_length: int | None = None
    """Characters of one string value."""


class Span(NamedTuple):
    """The place of a failure, in hex."""

    trace_id: str
    span_id: str


class Seen(NamedTuple):
    """What a hop knows at its end."""

    events: Mapping[str, FailureEvent]
    """The failures of its report, by id, earliest first; a cause may lie outside."""
    failure_id: str | None
    omitted: bool
    total: int
    """How many failures it saw, with those that are no longer kept."""


_UNLIMITED = Limits()


def encode_event(
    event: FailureEvent,
    *,
    seq: int = 0,
    remote: bool = False,
    late: bool = False,
    cause: Span | None = None,
    limits: Limits = _UNLIMITED,
) -> Attributes:
    """The attributes of one failure event, identity last; over the limit the least important are left out first.

    `cause` is the span of the cause where it is known. Text must be valid UTF-8, as in every validated record.
    """
    length = limits.value_length
    found: Attributes = {semconv.SEQ: seq}
    _put_details(found, event, length)
    foreign = event.foreign_error
    if foreign is not None:
        if foreign.http_status is not None:
            found[semconv.FOREIGN_HTTP_STATUS] = foreign.http_status
        _put(found, semconv.FOREIGN_MESSAGE, foreign.message, length)
        _put(found, semconv.FOREIGN_TYPE, foreign.exception_type, length)
    _put(found, semconv.ATTEMPT_ID, event.attempt_id, length)
    _put(found, semconv.OPERATION_ID, event.operation_id, length)
    _put(found, semconv.OPERATION, event.operation, length)
    _put(found, semconv.EXCEPTION_TYPE, event.exception_type, length)
    if event.http_status is not None:
        found[semconv.HTTP_STATUS] = event.http_status
    _put(found, semconv.STAGE, event.stage, length)
    _put(found, semconv.REASON, event.failure_reason or None, length)
    if cause is not None and (length is None or length >= len(cause.trace_id)):
        found[semconv.CAUSE_TRACE_ID], found[semconv.CAUSE_SPAN_ID] = cause
    kind = event.failure_kind
    short = len(kind) <= (semconv.CHUNK_BYTES if length is None else length) and fits_pattern(kind)
    found[semconv.ERROR_TYPE] = kind if short else OTHER
    found[semconv.TEXT_BYTES] = 0  # its place; what follows outlasts it, and counts
    if late:
        found[semconv.LATE] = True
    if remote:
        found[semconv.REMOTE] = True
    _put(found, semconv.CAUSE_ID, event.cause_id, length)
    _put(found, semconv.BOUNDARY, event.boundary.value, length)
    _put(found, semconv.KIND, kind, length)
    _put(found, semconv.ID, event.event_id, length)
    found[semconv.TEXT_BYTES] = text_bytes(found)
    most = limits.attributes
    return found if most is None or len(found) <= most else _within(found, most)


def _put(found: Attributes, key: str, text: str | None, length: int | None) -> None:
    """Add a text, continued where one value cannot hold it; nothing where it is absent."""
    if text is None:
        return
    if len(text) <= SURELY_SHORT and (length is None or len(text) <= length):
        found[key] = text
    else:
        found.update(text_attributes(key, text, length))


def _put_details(found: Attributes, event: FailureEvent, length: int | None) -> None:
    if event.details is None:
        return
    sandbox = isinstance(event.details, SandboxFailureDetails)
    prefix = semconv.SANDBOX if sandbox else semconv.MODEL
    present = {name: value for name, value in event.details if value is not None}
    if not present:
        found[semconv.DETAILS] = "sandbox" if sandbox else "model"
    for name, value in present.items():
        if isinstance(value, str):
            _put(found, prefix + name, value, length)
        else:
            found.update(int_attributes(prefix + name, value, length))  # a bool stays what it is


_WITH_THE_ONE_BEFORE = frozenset({semconv.FOREIGN_TYPE, semconv.CAUSE_SPAN_ID})
"""A message without its type is no record, half a place is none: they stand or fall together."""


def _within(found: Attributes, most: int) -> Attributes:
    """`found` without the first ones as far as `most` asks; at least the last one, with its continuation, stays.

    `seq` goes before all others: a reader that meets it knows that no other was left out.
    """
    starts = [
        at
        for at, key in enumerate(found)
        if not key.endswith(semconv.REST) and key not in _WITH_THE_ONE_BEFORE
    ]
    first = next((at for at in starts if len(found) - at <= most), starts[-1])
    return {key: value for at, (key, value) in enumerate(found.items()) if at >= first}


def report_attributes(
    seen: Seen,
    root_span_id: str | None = None,
    limits: Limits = _UNLIMITED,
    present: Collection[str] = (),
    sent: FailureReport | None = None,
    *,
    unfinished: bool = False,
) -> Attributes:
    """The attributes of a hop's span; empty where the hop saw no failure.

    Where a report was `sent`, its ids are written down, and `omitted` as it said; else all that the hop has seen.
    Where `limits.attributes` is too small the most important stay: a reader that meets no `report.ids` knows that the
    report is not whole. What is `present` on the span needs no new place.
    """
    if not seen.events and not seen.omitted:
        return {}
    length = limits.value_length
    causes = {key: event.cause_id for key, event in seen.events.items()}
    root = cause_graph.root_cause(causes, seen.failure_id, seen.events)
    ids, omitted = (seen.events, seen.omitted) if sent is None else (sent.events, sent.omitted)
    fits = length is None or all(len(key) <= length for key in ids)
    groups: list[Attributes] = [{semconv.REPORT_SCHEMA_VERSION: semconv.SCHEMA_VERSION}]
    if seen.failure_id is not None:
        groups.append(text_attributes(semconv.REPORT_ID, seen.failure_id, length))
    if omitted or not fits:
        # Before the ids: a list that is not whole must never stand without saying so.
        groups.append({semconv.REPORT_OMITTED: True})
    if fits:
        groups.append({semconv.REPORT_IDS: tuple(ids)})
    if root is not None:
        groups.append(text_attributes(semconv.REPORT_ROOT_ID, root, length))
        if fits and root_span_id is not None and (length is None or len(root_span_id) <= length):
            groups.append({semconv.REPORT_ROOT_SPAN_ID: root_span_id})
        groups.append(
            text_attributes(semconv.REPORT_ROOT_KIND, seen.events[root].failure_kind, length)
        )
    if unfinished and seen.failure_id is None:
        groups.append({semconv.REPORT_UNFINISHED: True})
    groups.append({semconv.REPORT_COUNT: seen.total})
    groups.append(
        _names(semconv.REPORT_KINDS, (event.failure_kind for event in seen.events.values()), length)
    )
    groups.append(
        _names(
            semconv.REPORT_BOUNDARIES,
            (event.boundary.value for event in seen.events.values()),
            length,
        )
    )
    return _first(groups, limits.attributes, present)


def _names(key: str, names: Iterable[str], length: int | None) -> Attributes:
    found: Collection[str] = sorted(set(names))
    return (
        {key: tuple(found)} if length is None or all(len(name) <= length for name in found) else {}
    )


def _first(groups: list[Attributes], most: int | None, present: Collection[str]) -> Attributes:
    kept: Attributes = {}
    free = most
    for group in groups:
        needed = sum(key not in present for key in group)
        if free is None or needed <= free:
            kept.update(group)
            free = None if free is None else free - needed
    return kept


def encode_report(report: FailureReport) -> tuple[list[Attributes], Attributes]:
    """The attributes of each event of `report`, and those of the span of the hop that sends it."""
    seen = Seen(report.events, report.failure_id, report.omitted, len(report.events))
    return [
        encode_event(event, seq=seq) for seq, event in enumerate(report.events.values())
    ], report_attributes(seen)
