"""Records to attributes. What must survive stands last: the SDK keeps the last N attributes of an event."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from failgraph import graph, semconv
from failgraph.codec.attributes import Attributes, int_attributes, text_attributes, text_bytes
from failgraph.kinds import OTHER, fits_pattern
from failgraph.records import FailureEvent, FailureReport, SandboxFailureDetails


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
    groups = list(_groups(event, cause, remote, late, limits.value_length))
    counted = text_bytes({key: value for group in groups for key, value in group.items()})
    groups.insert(-_ALWAYS, {semconv.TEXT_BYTES: counted})
    return _within([{semconv.SEQ: seq}, *groups], limits.attributes)


_ALWAYS = 6
"""Groups that outlast `text_bytes`: flags, cause id, boundary, kind, id (an absent one is an empty group)."""


def _groups(
    event: FailureEvent, cause: Span | None, remote: bool, late: bool, length: int | None
) -> Iterator[Attributes]:
    """The attributes of `event` in groups that stand or fall together, least important first.

    `seq` goes before all of them: a reader that meets it knows that no other was left out.
    """

    def text(key: str, value: str | None) -> Attributes:
        return {} if value is None else text_attributes(key, value, length)

    yield from _details(event, length)
    if event.foreign_error is not None:
        if event.foreign_error.http_status is not None:
            yield {semconv.FOREIGN_HTTP_STATUS: event.foreign_error.http_status}
        # A message without its type is no record: they stand or fall together.
        message = text(semconv.FOREIGN_MESSAGE, event.foreign_error.message)
        yield {**message, **text(semconv.FOREIGN_TYPE, event.foreign_error.exception_type)}
    yield text(semconv.ATTEMPT_ID, event.attempt_id)
    yield text(semconv.OPERATION_ID, event.operation_id)
    yield text(semconv.OPERATION, event.operation)
    yield text(semconv.EXCEPTION_TYPE, event.exception_type)
    yield {} if event.http_status is None else {semconv.HTTP_STATUS: event.http_status}
    yield text(semconv.STAGE, event.stage)
    yield text(semconv.REASON, event.failure_reason or None)
    if cause is not None and (length is None or length >= len(cause.trace_id)):
        yield {semconv.CAUSE_TRACE_ID: cause.trace_id, semconv.CAUSE_SPAN_ID: cause.span_id}
    short = fits_pattern(event.failure_kind) and len(event.failure_kind) <= (
        semconv.CHUNK_BYTES if length is None else length
    )
    yield {semconv.ERROR_TYPE: event.failure_kind if short else OTHER}
    yield {semconv.LATE: True} if late else {}
    yield {semconv.REMOTE: True} if remote else {}
    yield text(semconv.CAUSE_ID, event.cause_id)
    yield text(semconv.BOUNDARY, event.boundary.value)
    yield text(semconv.KIND, event.failure_kind)
    yield text(semconv.ID, event.event_id)


def _details(event: FailureEvent, length: int | None) -> Iterator[Attributes]:
    if event.details is None:
        return
    sandbox = isinstance(event.details, SandboxFailureDetails)
    prefix = semconv.SANDBOX if sandbox else semconv.MODEL
    present = {name: value for name, value in event.details if value is not None}
    if not present:
        yield {semconv.DETAILS: "sandbox" if sandbox else "model"}
    for name, value in present.items():
        if isinstance(value, str):
            yield text_attributes(prefix + name, value, length)
        else:
            yield int_attributes(prefix + name, value, length)  # a bool stays what it is


def _within(groups: list[Attributes], most: int | None) -> Attributes:
    """The groups in one dict, without the first ones as far as `most` asks; at least the last one stays."""
    size = sum(map(len, groups))
    kept = 0
    while most is not None and size > most and kept < len(groups) - 1:
        size -= len(groups[kept])
        kept += 1
    return {key: value for group in groups[kept:] for key, value in group.items()}


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
    root = graph.root_cause(causes, seen.failure_id, seen.events)
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
        groups.append(text_attributes(semconv.REPORT_ROOT_KIND, seen.events[root].failure_kind, length))
    if unfinished and seen.failure_id is None:
        groups.append({semconv.REPORT_UNFINISHED: True})
    groups.append({semconv.REPORT_COUNT: seen.total})
    groups.append(_names(semconv.REPORT_KINDS, (event.failure_kind for event in seen.events.values()), length))
    groups.append(_names(semconv.REPORT_BOUNDARIES, (event.boundary.value for event in seen.events.values()), length))
    return _first(groups, limits.attributes, present)


def _names(key: str, names: Iterable[str], length: int | None) -> Attributes:
    found: Collection[str] = sorted(set(names))
    return {key: tuple(found)} if length is None or all(len(name) <= length for name in found) else {}


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
    return [encode_event(event, seq=seq) for seq, event in enumerate(report.events.values())], report_attributes(seen)
