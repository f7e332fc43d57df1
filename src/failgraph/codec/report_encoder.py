"""Encode the report of a hop as attributes of its span."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
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
        root_span_id: Span of the root cause, 16 hex digits, or None if it is unknown.
        sent: The report that was sent, or None. If there is one, its ids and its `omitted` are
            written instead of those of `events`.
        unfinished: True if the hop came to no result.
    """

    events: Mapping[str, FailureEvent]
    failure_id: str | None
    omitted: bool
    total: int
    root_span_id: str | None = None
    sent: FailureReport | None = None
    unfinished: bool = False

    @property
    def root_id(self) -> str | None:
        """The root cause, or None if there is none among the events."""
        causes = {key: event.cause_id for key, event in self.events.items()}
        return cause_graph.root_cause(causes, self.failure_id, self.events)


def report_attributes(
    hop: HopSummary, limits: AttributeLimits = NO_LIMITS, present: Collection[str] = ()
) -> Attributes:
    """Return the attributes of a hop's span, empty if the hop saw no failure.

    If the limit is too small the most important attributes stay. A reader that finds no list of ids
    knows that the report is incomplete.

    Args:
        hop: The hop at its end.
        limits: How many attributes the span still takes, and how long their values may be.
        present: Keys that the span already has: they need no additional place.
    """
    if not hop.events and not hop.omitted:
        return {}
    groups: list[Attributes] = [
        {semconv.REPORT_SCHEMA_VERSION: semconv.SCHEMA_VERSION},
        *_id_groups(hop, limits.value_length),
        *_root_groups(hop, limits.value_length),
        *_search_groups(hop, limits.value_length),
    ]
    return _first_that_fit(groups, limits.attributes, present)


def _id_groups(hop: HopSummary, length: int | None) -> Iterator[Attributes]:
    """Yield the own failure, `omitted`, and the ids of the report."""
    if hop.failure_id is not None:
        yield text_attributes(semconv.REPORT_ID, hop.failure_id, length)
    omitted = hop.omitted if hop.sent is None else hop.sent.omitted
    ids = _report_ids(hop)
    if omitted or not _all_fit(ids, length):
        # Before the ids: an incomplete list must never stand without this flag.
        yield {semconv.REPORT_OMITTED: True}
    if _all_fit(ids, length):
        yield {semconv.REPORT_IDS: tuple(ids)}


def _root_groups(hop: HopSummary, length: int | None) -> Iterator[Attributes]:
    """Yield the root cause: its id, its span, its kind."""
    root_id, span_id = hop.root_id, hop.root_span_id
    if root_id is None:
        return
    yield text_attributes(semconv.REPORT_ROOT_ID, root_id, length)
    if span_id is not None and _all_fit([*_report_ids(hop), span_id], length):
        yield {semconv.REPORT_ROOT_SPAN_ID: span_id}
    yield text_attributes(semconv.REPORT_ROOT_KIND, hop.events[root_id].failure_kind, length)


def _search_groups(hop: HopSummary, length: int | None) -> Iterator[Attributes]:
    """Yield what people search for: unfinished hops, counts, kinds and boundaries."""
    if hop.unfinished and hop.failure_id is None:
        yield {semconv.REPORT_UNFINISHED: True}
    yield {semconv.REPORT_COUNT: hop.total}
    kinds = sorted({event.failure_kind for event in hop.events.values()})
    if _all_fit(kinds, length):
        yield {semconv.REPORT_KINDS: tuple(kinds)}
    boundaries = sorted({event.boundary.value for event in hop.events.values()})
    if _all_fit(boundaries, length):
        yield {semconv.REPORT_BOUNDARIES: tuple(boundaries)}


def _report_ids(hop: HopSummary) -> Collection[str]:
    return hop.events if hop.sent is None else hop.sent.events


def _all_fit(values: Iterable[str], length: int | None) -> bool:
    return length is None or all(len(value) <= length for value in values)


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
