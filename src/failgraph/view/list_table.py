"""The table that `list` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from failgraph.readers import Trace
from failgraph.redaction.display import display
from failgraph.text import MAX_ID_LENGTH, sanitize
from failgraph.traces.outcomes import outcome_of
from failgraph.view.lines import Line, Segment, count_of, failure_counts, format_duration
from failgraph.view.loss_lines import loss_lines

_ROLLOUT_LENGTH = 40
_TRACE_DIGITS = 8
_ROLES = {"failed": "own", "recovered": "recovered", "unknown": "quiet"}
_NS_PER_SECOND = 1_000_000_000


class _Column(NamedTuple):
    """A column: its title, and a cell for each trace."""

    title: str
    cells: list[Segment]

    @property
    def width(self) -> int:
        """Characters of the widest cell."""
        return max(len(self.title), *(len(cell.text) for cell in self.cells))


def list_lines(
    traces: Sequence[Trace], *, full: bool = False, with_head: bool = True
) -> Iterator[Line]:
    """Yield the lines of the table: a head, and one line for each trace.

    Nothing is yielded if there are no traces.

    Args:
        traces: The traces to list.
        full: True for whole ids, for more columns, and for the losses below each line.
        with_head: False to leave out the head.
    """
    if not traces:
        return
    columns = _columns(traces, full=full)
    if with_head:
        yield _line([Segment(column.title, "quiet") for column in columns], columns)
    for number, trace in enumerate(traces):
        line = _line([column.cells[number] for column in columns], columns)
        if trace.losses and not full:
            line.append(Segment(f"  {count_of(len(trace.losses), 'loss', 'losses')}", "lost"))
        yield line
        if full:
            yield from ([Segment("    "), *loss] for loss in loss_lines(trace.losses))


def _columns(traces: Sequence[Trace], *, full: bool) -> list[_Column]:
    rollout_length = MAX_ID_LENGTH if full else _ROLLOUT_LENGTH
    digits = None if full else _TRACE_DIGITS
    outcomes = [outcome_of(trace) for trace in traces]
    columns = [
        _Column("rollout", [Segment(_rollout(trace, rollout_length)) for trace in traces]),
        _Column("outcome", [Segment(outcome, _ROLES[outcome]) for outcome in outcomes]),
        _Column("root cause", [_root_cause(trace) for trace in traces]),
        _Column("time", [Segment(_time(trace.start_unix_nano), "quiet") for trace in traces]),
        _Column("trace", [Segment(trace.trace_id[:digits], "name") for trace in traces]),
    ]
    if full:
        columns += [
            _Column(
                "duration", [Segment(format_duration(trace.duration_nano)) for trace in traces]
            ),
            _Column("failures", [Segment(failure_counts(trace)) for trace in traces]),
            _Column("service", [Segment(display(trace.service)) for trace in traces]),
        ]
    return columns


def _line(cells: Sequence[Segment], columns: Sequence[_Column]) -> Line:
    line: Line = []
    for cell, column in zip(cells, columns, strict=True):
        before = "  " if line else ""
        line.append(Segment(f"{before}{cell.text.ljust(column.width)}", cell.role))
    return line


def _rollout(trace: Trace, length: int) -> str:
    """Return the id of the first rollout of a trace, or `-` if it has none."""
    return sanitize(trace.rollout_ids[0], length) if trace.rollout_ids else "-"


def _root_cause(trace: Trace) -> Segment:
    """Return boundary and kind of the root cause; a kind that begins with its boundary alone."""
    if trace.root_cause is None:
        return Segment("unknown", "quiet")
    event = trace.report.events[trace.root_cause]
    boundary = event.boundary.value
    kind = sanitize(event.failure_kind, 80)
    name = kind if kind.startswith(f"{boundary}:") else f"{boundary} {kind}"
    return Segment(name, boundary)


def _time(start_unix_nano: int) -> str:
    """Return a time in UTC to the second, or `?` if it is 0."""
    if not start_unix_nano:
        return "?"
    start = datetime.fromtimestamp(start_unix_nano // _NS_PER_SECOND, tz=timezone.utc)
    return f"{start:%Y-%m-%dT%H:%M:%SZ}"
