"""The table that `top` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failgraph.redaction.display import display
from failgraph.view.lines import Line, Segment, format_duration
from failgraph.view.top import TopRow

_NUMBERS = ("count", "root cause", "recovered", "time lost", "share", "median to end")
_FULL_LENGTH = 1000  # characters of a name that is shown whole


def top_lines(
    rows: Sequence[TopRow], *, full: bool = False, with_head: bool = True
) -> Iterator[Line]:
    """Yield the lines of the table, its head first; the numbers stand in front of the names.

    Nothing is yielded if there are no rows.

    Args:
        rows: The rows.
        full: True for whole names.
        with_head: False to leave out the head.
    """
    if not rows:
        return
    kind_length, service_length = (_FULL_LENGTH, _FULL_LENGTH) if full else (60, 40)
    names = [
        (row.boundary, display(row.kind, kind_length), display(row.service, service_length))
        for row in rows
    ]
    boundary_width = max(len("boundary"), *(len(boundary) for boundary, _, _ in names))
    kind_width = max(len("kind"), *(len(kind) for _, kind, _ in names))
    titles = [*_NUMBERS, "boundary".ljust(boundary_width), "kind".ljust(kind_width), "service"]
    if with_head:
        yield [Segment("  ".join(titles), "quiet")]
    for row, (boundary, kind, service) in zip(rows, names, strict=True):
        cells = zip(_number_cells(row), _NUMBERS, strict=True)
        numbers = "  ".join(cell.rjust(len(title)) for cell, title in cells)
        yield [
            Segment(f"{numbers}  "),
            Segment(boundary.ljust(boundary_width), boundary),
            Segment(f"  {kind.ljust(kind_width)}", "name"),
            Segment(f"  {service}", "quiet"),
        ]


def _number_cells(row: TopRow) -> tuple[str, ...]:
    return (
        str(row.count),
        str(row.root_cause_count),
        "?" if row.recovered is None else str(row.recovered),
        format_duration(row.time_lost_nano),
        "?" if row.time_lost_ratio is None else f"{row.time_lost_ratio:.1%}",
        format_duration(row.median_delay_nano),
    )
