"""A picture as plain text: for pipes, files, and where rich is not installed."""

from __future__ import annotations

from collections.abc import Iterator

from failgraph.view.picture import Line, Picture

_COLUMN = 10
_DEEPEST = 120
"""Characters of indentation at most, however deep hops nest."""


def plain(line: Line) -> str:
    """The text of a line."""
    return "".join(part.text for part in line)


def plain_lines(picture: Picture) -> Iterator[str]:
    """The text of a picture: offsets and durations in two columns, the tree beside them."""
    yield from map(plain, picture.head)
    yield _row("offset", "duration", "")
    stack = [(node, "", "") for node in reversed(picture.nodes)]
    while stack:
        node, branch, stem = stack.pop()
        yield _row(node.offset, node.duration, branch + plain(node.line))
        for note in node.notes:
            yield _row("", "", f"{stem}   {plain(note)}")
        rest = stem if len(stem) < _DEEPEST else stem[: _DEEPEST - 1] + "…"
        for position, below in reversed(list(enumerate(node.below))):
            last = position == len(node.below) - 1
            stack.append((below, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")))
    yield from map(plain, picture.tail)


def _row(offset: str, length: str, text: str) -> str:
    return f"{offset:>{_COLUMN}} {length:>{_COLUMN}}  {text}".rstrip()
