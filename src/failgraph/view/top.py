"""Which failures are most frequent and what they cost: one row per boundary, kind and service."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from failgraph.readers import FailureRecord, Trace
from failgraph.traces.failures import by_time
from failgraph.traces.query import Query
from failgraph.traces.spans import SpanRecord


@dataclass(frozen=True, slots=True)
class TopRow:
    """The failures of one boundary, kind and service.

    Attributes:
        boundary: Value of the boundary.
        kind: The failure kind.
        service: The service that observed the failures.
        count: Number of failures; each counts once, however many reports hold it.
        root_cause_count: Number of traces whose root cause is one of them.
        recovered: Number of recovered failures, or None if it is unknown for all of them.
        time_lost_nano: Time in ns of the spans that ended in one of them; spans that overlap in one
            trace count once. None if no trace has a duration.
        time_lost_ratio: `time_lost_nano` as a share of the durations of all traces, or None if
            those are unknown.
        median_delay_nano: Median time in ns from the failure to the end of its trace, or None if it
            is unknown for all of them.
    """

    boundary: str
    kind: str
    service: str
    count: int
    root_cause_count: int
    recovered: int | None
    time_lost_nano: int | None
    time_lost_ratio: float | None
    median_delay_nano: int | None


class _Occurrence(NamedTuple):
    """A failure in the trace that counts it."""

    trace: Trace
    failure: FailureRecord


_SpansByFailure = Mapping[str, Sequence[SpanRecord]]


def top_rows(
    traces: Sequence[Trace], query: Query, durations: Mapping[str, int | None]
) -> list[TopRow]:
    """Return the failures of `traces` that `query` asks for, the most frequent first.

    Args:
        traces: Traces with failures.
        query: The kinds, boundaries and services to count.
        durations: The duration in ns of every trace, also of those without failures, by trace id.
    """
    groups: dict[tuple[str, str, str], list[_Occurrence]] = {}
    for trace, failure in _each_failure_once(traces):
        if query.matches_failure(trace, failure):
            key = (failure.event.boundary.value, failure.event.failure_kind, failure.span.service)
            groups.setdefault(key, []).append(_Occurrence(trace, failure))
    total_nano = sum(filter(None, durations.values()))
    ended_in = {trace.trace_id: _spans_by_failure(trace) for trace in traces}
    rows = [_row(key, group, ended_in, total_nano) for key, group in groups.items()]
    return sorted(rows, key=_rank)


def _rank(row: TopRow) -> tuple[int, int, str, str, str]:
    return -row.count, -(row.time_lost_nano or 0), row.boundary, row.kind, row.service


def _each_failure_once(traces: Sequence[Trace]) -> Iterator[_Occurrence]:
    """Yield each failure in its own trace, or in the first that names it if its own is missing."""
    present = {trace.trace_id for trace in traces}
    elsewhere: set[str] = set()
    for trace in traces:
        for event_id, failure in trace.failures.items():
            if failure.span.trace_id == trace.trace_id:
                yield _Occurrence(trace, failure)
            elif failure.span.trace_id not in present and event_id not in elsewhere:
                elsewhere.add(event_id)
                yield _Occurrence(trace, failure)


def _spans_by_failure(trace: Trace) -> _SpansByFailure:
    """Return the spans that ended in each failure.

    They are the hops whose own failure it is, and a span without a report that has the status ERROR
    and on which it was the last failure.
    """
    spans: dict[str, list[SpanRecord]] = {event_id: [] for event_id in trace.failures}
    reported = set()
    for hop in trace.hops:
        if hop.report is not None:
            reported.add(hop.span.span_id)
            if hop.report.failure_id in spans:
                spans[hop.report.failure_id].append(hop.span)
    last_failure: dict[str, str] = {}
    for event_id, failure in sorted(trace.failures.items(), key=by_time):
        last_failure[failure.stands_on.span_id] = event_id
    for event_id in last_failure.values():
        span = trace.failures[event_id].stands_on
        if span.status == "ERROR" and span.span_id not in reported:
            spans[event_id].append(span)
    return spans


def _row(
    key: tuple[str, str, str],
    group: Sequence[_Occurrence],
    ended_in: Mapping[str, _SpansByFailure],
    total_nano: int,
) -> TopRow:
    boundary, kind, service = key
    time_lost = _time_lost(group, ended_in)
    delays = list(_delays(group))
    return TopRow(
        boundary,
        kind,
        service,
        count=len(group),
        root_cause_count=sum(
            trace.root_cause == failure.event.event_id for trace, failure in group
        ),
        recovered=_recovered(group),
        time_lost_nano=time_lost,
        time_lost_ratio=time_lost / total_nano if time_lost is not None and total_nano else None,
        median_delay_nano=round(statistics.median(delays)) if delays else None,
    )


def _recovered(group: Sequence[_Occurrence]) -> int | None:
    known = [
        failure.event.event_id in trace.recovered
        for trace, failure in group
        if trace.recovered is not None
    ]
    return sum(known) if known else None


def _delays(group: Sequence[_Occurrence]) -> Iterator[int]:
    """Yield the known times in ns from a failure to the end of its trace."""
    for trace, failure in group:
        is_here = failure.span.trace_id == trace.trace_id
        if trace.duration_nano is not None and failure.time_unix_nano and is_here:
            yield trace.start_unix_nano + trace.duration_nano - failure.time_unix_nano


def _time_lost(group: Sequence[_Occurrence], ended_in: Mapping[str, _SpansByFailure]) -> int | None:
    """Return the time in ns of the spans that ended in these failures, or None if it is unknown."""
    if all(trace.duration_nano is None for trace, _ in group):
        return None
    spans: dict[str, list[SpanRecord]] = {}
    for trace, failure in group:
        ended = ended_in[trace.trace_id][failure.event.event_id]
        spans.setdefault(trace.trace_id, []).extend(ended)
    return sum(map(_covered_nano, spans.values()))


def _covered_nano(spans: Iterable[SpanRecord]) -> int:
    """Return the time in ns in which at least one of the spans was open."""
    covered = until = 0
    for span in sorted(spans, key=lambda span: span.start_unix_nano):
        if span.duration_nano is not None:
            covered += max(0, span.end_unix_nano - max(until, span.start_unix_nano))
            until = max(until, span.end_unix_nano)
    return covered
