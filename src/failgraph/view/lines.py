"""Lines of text for people: segments with a role, from which plain text or colours are made.

All text is made safe here, so that no output has to do it again.
"""

from __future__ import annotations

from typing import NamedTuple

from failgraph.readers import Trace
from failgraph.semconv import REPORT_UNFINISHED
from failgraph.text import sanitize

_NS_PER_SECOND = 1_000_000_000


class Segment(NamedTuple):
    """A piece of a line.

    Attributes:
        text: What to print, already safe for a terminal.
        role: What the piece is, which decides its colour: `plain`, `quiet`, `name`, `mark`, `own`,
            `recovered`, `lost`, or the value of a boundary.
    """

    text: str
    role: str = "plain"


Line = list[Segment]


def format_duration(nano: int | None) -> str:
    """Return a duration in µs, ms or s, or `?` if it is unknown.

    Args:
        nano: The duration in ns; negative if a clock went backwards.
    """
    if nano is None:
        return "?"
    size = abs(nano)
    sign = "-" if nano < -500 else ""  # a smaller one is shown as 0 µs, which has no sign
    if size < 1_000_000:
        return f"{sign}{size / 1e3:.0f} µs"
    if size < _NS_PER_SECOND:
        return f"{sign}{size / 1e6:.1f} ms"
    return f"{sign}{size / 1e9:.3f} s"


def failure_name(trace: Trace, event_id: str) -> tuple[Segment, Segment]:
    """Return the boundary and the kind of a failure, which name it for people."""
    event = trace.report.events[event_id]
    boundary = event.boundary.value
    return Segment(boundary, boundary), Segment(f" {sanitize(event.failure_kind, 80)}")


def rollout(trace: Trace) -> str:
    """Return the id of the first rollout of a trace; the trace must have one."""
    return f"rollout {sanitize(trace.rollout_ids[0], 80)}"


def failure_counts(trace: Trace) -> str:
    """Return how many failures a trace has, and how many were recovered."""
    count = count_of(len(trace.report.events), "failure", "failures")
    if trace.root is not None and trace.root.attributes.get(REPORT_UNFINISHED) is True:
        return f"{count}, unfinished"
    if trace.recovered:
        return f"{count}, {len(trace.recovered)} recovered"
    return count


def count_of(count: int, singular: str, plural: str) -> str:
    """Return a number with its noun."""
    return f"{count} {singular if count == 1 else plural}"
