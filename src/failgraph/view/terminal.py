"""A picture on a terminal, drawn by rich: colours by boundary, lines that fit the width, `NO_COLOR` honoured.

Only imported where rich is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.text import Text
from rich.tree import Tree

from failgraph.view.picture import Line, Node, Picture

STYLES = {
    "plain": "",
    "quiet": "dim",
    "name": "bold",
    "mark": "italic",
    "own": "bold red",
    "recovered": "green",
    "lost": "yellow",
    "agent": "cyan",
    "collection": "blue",
    "environment": "green",
    "harness": "bright_black",
    "model": "magenta",
    "resources_server": "yellow",
    "sandbox": "red",
}
"""The style of each role: the names of colours only, so that a light and a dark terminal each show their own."""

_LONG_BYTES = 16 << 20
"""A source from this size on gets a progress bar."""


def print_line(console: Console, line: Line) -> None:
    """Print one line, never broken: a terminal that is too narrow wraps it itself."""
    console.print(_text(line), soft_wrap=True)


def print_picture(console: Console, picture: Picture) -> None:
    """Print a whole picture."""
    for line in picture.head:
        console.print(_text(line))
    for node in picture.nodes:
        console.print(_tree(node))
    for line in picture.tail:
        console.print(_text(line))


def _tree(top: Node) -> Tree:
    tree = Tree(_label(top), guide_style="dim")
    stack = [(tree, top)]
    while stack:
        branch, node = stack.pop()
        stack.extend((branch.add(_label(below)), below) for below in node.below)
    return tree


def _label(node: Node) -> Text:
    times = f"{node.offset} +{node.duration}  " if node.duration else f"{node.offset}  "
    lines = [Text.assemble((times, "dim"), _text(node.line)), *map(_text, node.notes)]
    return Text("\n").join(lines)


def _text(line: Line) -> Text:
    return Text.assemble(*((part.text, STYLES[part.role]) for part in line))


@contextmanager
def progress_bar(console: Console) -> Iterator[Callable[[int, int], None]]:
    """What `read` tells its progress to: a bar that is gone when it is done, for long sources only."""
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("reading", total=None, visible=False)

        def told(done: int, size: int) -> None:
            if size >= _LONG_BYTES:
                progress.update(task, completed=done, total=size, visible=True)

        yield told
