"""A failure tree as plain text: for pipes, files, and if rich is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from failgraph.view.lines import Line
from failgraph.view.tree import FailureTree, TreeNode

_COLUMN = 10
_MAX_INDENT = 120  # characters, however deep hops nest


class TreeRow(NamedTuple):
    """A row of the tree.

    Attributes:
        offset: The time since the start of the trace; empty for a note.
        duration: How long a hop took; empty for anything else.
        branch: The lines of the tree in front of the text.
        stem: The lines of the tree in front of text that continues below.
        line: The text.
    """

    offset: str
    duration: str
    branch: str
    stem: str
    line: Line


def line_text(line: Line) -> str:
    """Return the text of a line."""
    return "".join(segment.text for segment in line).rstrip()


def tree_text(tree: FailureTree) -> Iterator[str]:
    """Yield the lines of a tree: offset and duration in two columns, the tree beside them."""
    yield from map(line_text, tree.header)
    for row in tree_rows(tree):
        yield f"{time_columns(row)}{row.branch}{line_text(row.line)}".rstrip()
    yield from map(line_text, tree.footer)


def tree_rows(tree: FailureTree) -> Iterator[TreeRow]:
    """Yield the rows of a tree, the column titles first.

    Iterative, since a file decides how deep hops nest.
    """
    yield TreeRow("offset", "duration", "", "", [])
    stack: list[tuple[TreeNode, str, str]] = [(node, "", "") for node in reversed(tree.nodes)]
    while stack:
        node, branch, stem = stack.pop()
        note_stem = f"{stem}   "
        yield TreeRow(node.offset, node.duration, branch, note_stem, node.line)
        for note in node.notes:
            yield TreeRow("", "", note_stem, note_stem, note)
        indent = stem if len(stem) < _MAX_INDENT else stem[: _MAX_INDENT - 1] + "…"
        below = [(child, f"{indent}├─ ", f"{indent}│  ") for child in node.children[:-1]]
        below += [(child, f"{indent}└─ ", f"{indent}   ") for child in node.children[-1:]]
        stack += reversed(below)


def time_columns(row: TreeRow) -> str:
    """Return offset and duration of a row, always of one width."""
    return f"{row.offset:>{_COLUMN}} {row.duration:>{_COLUMN}}  "
