"""Encode the report of a hop as attributes of its span."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from failgraph import semconv
from failgraph.codec.attributes import NO_LIMITS, AttributeLimits, Attributes, text_attributes
from failgraph.codec.event_encoder import encode_event
from failgraph.failure import cause_graph
from failgraph.failure.records import FailureEvent, FailureReport


class HopSummary(NamedTuple):
    """What a hop knows at its end.

    Attributes:
        events: The failures that it knows, by id, earliest first. A cause may be missing.
        failure_id: Its own failure, or None if it succeeded.
        omitted: True if failures are missing from `events`.
        total: How many failures it saw, including those that were dropped since.
    """

    events: Mapping[str, FailureEvent]
    failure_id: str | None
    omitted: bool
    total: int


def report_attributes(
    hop: HopSummary,
    root_span_id: str | None = None,
    limits: AttributeLimits = NO_LIMITS,
    present: Collection[str] = (),
    sent: FailureReport | None = None,
    *,
    unfinished: bool = False,
) -> Attributes:
    """Return the attributes of a hop's span, empty if the hop saw no failure.

    If the limit is too small the most important attributes stay. A reader that finds no list of ids
    knows that the report is incomplete.

    Args:
        hop: The failures of the hop.
        root_span_id: Span of the root cause, 16 hex digits, if it is known.
        limits: How many attributes the span still takes, and how long their values may be.
        present: Keys that the span already has: they need no additional place.
        sent: The report that was sent, or None. If there is one, its ids and its `omitted` are
            written instead of all that the hop knows.
        unfinished: True if the hop came to no result.
    """
    if not hop.events and not hop.omitted:
        return {}
    length = limits.value_length
    causes = {key: event.cause_id for key, event in hop.events.items()}
    root_id = cause_graph.root_cause(causes, hop.failure_id, hop.events)
    ids, omitted = (hop.events, hop.omitted) if sent is None else (sent.events, sent.omitted)
    ids_fit = _all_fit(ids, length)
    groups: list[Attributes] = [{semconv.REPORT_SCHEMA_VERSION: semconv.SCHEMA_VERSION}]
    if hop.failure_id is not None:
        groups.append(text_attributes(semconv.REPORT_ID, hop.failure_id, length))
    if omitted or not ids_fit:
        # Before the ids: an incomplete list must never stand without this flag.
        groups.append({semconv.REPORT_OMITTED: True})
    if ids_fit:
        groups.append({semconv.REPORT_IDS: tuple(ids)})
    if root_id is not None:
        groups.append(text_attributes(semconv.REPORT_ROOT_ID, root_id, length))
        if ids_fit and root_span_id is not None and _all_fit([root_span_id], length):
            groups.append({semconv.REPORT_ROOT_SPAN_ID: root_span_id})
        root_kind = hop.events[root_id].failure_kind
        groups.append(text_attributes(semconv.REPORT_ROOT_KIND, root_kind, length))
    if unfinished and hop.failure_id is None:
        groups.append({semconv.REPORT_UNFINISHED: True})
    groups.append({semconv.REPORT_COUNT: hop.total})
    kinds = {event.failure_kind for event in hop.events.values()}
    groups.append(_search_names(semconv.REPORT_KINDS, kinds, length))
    boundaries = {event.boundary.value for event in hop.events.values()}
    groups.append(_search_names(semconv.REPORT_BOUNDARIES, boundaries, length))
    return _first_that_fit(groups, limits.attributes, present)


def _all_fit(values: Iterable[str], length: int | None) -> bool:
    return length is None or all(len(value) <= length for value in values)


def _search_names(key: str, names: Collection[str], length: int | None) -> Attributes:
    return {key: tuple(sorted(names))} if _all_fit(names, length) else {}


def _first_that_fit(
    groups: list[Attributes], limit: int | None, present: Collection[str]
) -> Attributes:
    """Merge groups, most important first, skipping each that needs more places than are free."""
    merged: Attributes = {}
    free = limit
    for group in groups:
        needed = sum(key not in present for key in group)
        if free is None:
            merged.update(group)
        elif needed <= free:
            merged.update(group)
            free -= needed
    return merged


def encode_report(report: FailureReport) -> tuple[list[Attributes], Attributes]:
    """Encode a report as the hop that sends it does.

    Returns:
        The attributes of each event, and those of the hop's span. `decode` takes both.
    """
    hop = HopSummary(report.events, report.failure_id, report.omitted, len(report.events))
    events = [encode_event(event, seq=seq) for seq, event in enumerate(report.events.values())]
    return events, report_attributes(hop)
