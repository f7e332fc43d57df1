"""A picture as plain text: for pipes, files, and where rich is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from failgraph.view.picture import Line, Node, Picture

_COLUMN = 10
_DEEPEST = 120
"""Characters of indentation at most, however deep hops nest."""


def plain(line: Line) -> str:
    """The text of a line."""
    return "".join(part.text for part in line).rstrip()


def plain_lines(picture: Picture) -> Iterator[str]:
    """The text of a picture: offsets and durations in two columns, the tree beside them."""
    yield from map(plain, picture.head)
    for row in rows(picture):
        yield f"{columns(row)}{row.branch}{plain(row.line)}".rstrip()
    yield from map(plain, picture.tail)


class Row(NamedTuple):
    """One row of the tree; `stem` is the branch of what continues below it."""

    offset: str
    duration: str
    branch: str
    stem: str
    line: Line


def rows(picture: Picture) -> Iterator[Row]:
    """The tree of a picture, row by row. Iterative: how deep hops nest is up to the file."""
    yield Row("offset", "duration", "", "", [])
    stack: list[tuple[Node, str, str]] = [(node, "", "") for node in reversed(picture.nodes)]
    while stack:
        node, branch, stem = stack.pop()
        note_stem = f"{stem}   "
        yield Row(node.offset, node.duration, branch, note_stem, node.line)
        for note in node.notes:
            yield Row("", "", note_stem, note_stem, note)
        rest = stem if len(stem) < _DEEPEST else stem[: _DEEPEST - 1] + "…"
        for position, below in reversed(list(enumerate(node.below))):
            last = position == len(node.below) - 1
            stack.append(
                (below, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
            )


def columns(row: Row) -> str:
    """Offset and duration of a row, always of one width."""
    return f"{row.offset:>{_COLUMN}} {row.duration:>{_COLUMN}}  "
