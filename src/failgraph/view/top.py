"""Which failures there are most of and what they cost: one row for each boundary, kind and service."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from failgraph.readers import FailureRecord, Trace
from failgraph.redaction import redact
from failgraph.redaction.display import display
from failgraph.traces.failures import by_time
from failgraph.traces.query import Query
from failgraph.traces.spans import SpanRecord
from failgraph.view.picture import Line, Part, duration


@dataclass(frozen=True, slots=True)
class TopRow:
    """Failures of one boundary, kind and service; times in ns."""

    boundary: str
    kind: str
    service: str
    count: int
    """Each failure once, in however many reports it is."""
    root_cause_count: int
    """Of how many traces one of them is the root cause."""
    recovered: int | None
    """How many of them are recovered; None where that is unknown of all."""
    time_lost_nano: int | None
    """How long the spans took that ended in one of them, where such spans overlap in one trace, that time once; None
    where no trace says how long anything took."""
    time_lost_ratio: float | None
    """Of the durations of all traces; None where those are unknown."""
    median_delay_nano: int | None
    """From the failure to the end of its trace."""


Key = tuple[str, str, str]


def top_rows(
    traces: Sequence[Trace], query: Query, durations: Mapping[str, int | None]
) -> list[TopRow]:
    """The failures of `traces` that `query` asks for, the most frequent first; `durations` are those of all traces."""
    groups: dict[Key, list[tuple[Trace, FailureRecord]]] = {}
    for trace, failure in _each_once(traces):
        if query.asks_for(trace, failure):
            key = (failure.event.boundary.value, failure.event.failure_kind, failure.span.service)
            groups.setdefault(key, []).append((trace, failure))
    whole = sum(filter(None, durations.values()))
    ended_in = {trace.trace_id: _spans_by_failure(trace) for trace in traces}
    rows = [_row(key, group, ended_in, whole) for key, group in groups.items()]
    return sorted(
        rows,
        key=lambda row: (
            -row.count,
            -(row.time_lost_nano or 0),
            row.boundary,
            row.kind,
            row.service,
        ),
    )


def _each_once(traces: Sequence[Trace]) -> Iterator[tuple[Trace, FailureRecord]]:
    """Each failure in its own trace; one whose trace is not here in the first that names it as a cause."""
    here = {trace.trace_id for trace in traces}
    elsewhere: set[str] = set()
    for trace in traces:
        for key, failure in trace.failures.items():
            if failure.span.trace_id == trace.trace_id:
                yield trace, failure
            elif failure.span.trace_id not in here and key not in elsewhere:
                elsewhere.add(key)
                yield trace, failure


def _spans_by_failure(trace: Trace) -> dict[str, list[SpanRecord]]:
    """The spans that ended in each failure: the hops of which it is the own one, and the inner span that it broke."""
    found: dict[str, list[SpanRecord]] = {key: [] for key in trace.failures}
    reported = set()
    for hop in trace.hops:
        if hop.report is not None:
            reported.add(hop.span.span_id)
            if hop.report.failure_id in found:
                found[hop.report.failure_id].append(hop.span)
    last: dict[str, str] = {}
    for key, failure in sorted(trace.failures.items(), key=by_time):
        last[failure.stands_on.span_id] = key
    for key in last.values():
        span = trace.failures[key].stands_on
        if span.status == "ERROR" and span.span_id not in reported:
            found[key].append(span)
    return found


def _row(
    key: Key,
    group: Sequence[tuple[Trace, FailureRecord]],
    ended_in: Mapping[str, Mapping[str, Sequence[SpanRecord]]],
    whole: int,
) -> TopRow:
    spans: dict[str, list[SpanRecord]] = {}
    known = [(trace.recovered, failure) for trace, failure in group if trace.recovered is not None]
    delays = []
    for trace, failure in group:
        spans.setdefault(trace.trace_id, []).extend(
            ended_in[trace.trace_id][failure.event.event_id]
        )
        if (
            trace.duration_nano is not None
            and failure.time_unix_nano
            and failure.span.trace_id == trace.trace_id
        ):
            delays.append(trace.start_unix_nano + trace.duration_nano - failure.time_unix_nano)
    timed = any(trace.duration_nano is not None for trace, _ in group)
    lost = sum(map(_covered, spans.values())) if timed else None
    return TopRow(
        *key,
        count=len(group),
        root_cause_count=sum(
            trace.root_cause == failure.event.event_id for trace, failure in group
        ),
        recovered=sum(failure.event.event_id in recovered for recovered, failure in known)
        if known
        else None,
        time_lost_nano=lost,
        time_lost_ratio=lost / whole if lost is not None and whole else None,
        median_delay_nano=round(statistics.median(delays)) if delays else None,
    )


def _covered(spans: Iterable[SpanRecord]) -> int:
    """The time in which at least one of the spans was open."""
    covered = until = 0
    for span in sorted(spans, key=lambda span: span.start_unix_nano):
        if span.duration_nano is not None:
            covered += max(0, span.end_unix_nano - max(until, span.start_unix_nano))
            until = max(until, span.end_unix_nano)
    return covered


def top_row(row: TopRow) -> dict[str, Any]:
    """What `top --json` prints of a row."""
    return {**asdict(row), "kind": redact(row.kind), "service": redact(row.service) or None}


_HEAD = ("count", "root cause", "recovered", "time lost", "share", "median to end")


def top_lines(rows: Sequence[TopRow]) -> Iterator[Line]:
    """A table of the rows, the numbers first, as their width is known."""
    if not rows:
        return
    names = [[row.boundary, display(row.kind, 60), display(row.service, 40)] for row in rows]
    widths = [
        max(map(len, column))
        for column in zip(("boundary", "kind"), *(name[:2] for name in names), strict=True)
    ]
    head = "  ".join(["boundary".ljust(widths[0]), "kind".ljust(widths[1]), "service"])
    yield [Part("  ".join([*_HEAD, head]), "quiet")]
    for row, (boundary, kind, service) in zip(rows, names, strict=True):
        cells = (
            str(row.count),
            str(row.root_cause_count),
            "?" if row.recovered is None else str(row.recovered),
            duration(row.time_lost_nano),
            "?" if row.time_lost_ratio is None else f"{row.time_lost_ratio:.1%}",
            duration(row.median_delay_nano),
        )
        numbers = "  ".join(cell.rjust(len(head)) for cell, head in zip(cells, _HEAD, strict=True))
        yield [
            Part(f"{numbers}  "),
            Part(boundary.ljust(widths[0]), row.boundary),
            Part(f"  {kind.ljust(widths[1])}", "name"),
            Part(f"  {service}", "quiet"),
        ]
