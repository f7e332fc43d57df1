"""A picture on a terminal, drawn by rich: colours by boundary, lines that fit the width, `NO_COLOR` honoured.

Only imported where rich is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from failgraph.view.picture import Line, Picture
from failgraph.view.plain import columns, rows

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
    "harness": "bright_blue",
    "model": "magenta",
    "resources_server": "yellow",
    "sandbox": "red",
}
"""The style of each role: the names of colours only, so that a light and a dark terminal each show their own."""

_NARROWEST = 24
"""Characters that a line gets at least, however deep the tree."""

_LONG_BYTES = 16 << 20
"""A source from this size on gets a progress bar."""


def print_line(console: Console, line: Line) -> None:
    """Print one line; where it is wider than the terminal it goes on below, indented."""
    for printed in _wrapped(console, _text(line), Text(), Text("    ")):
        console.print(printed, soft_wrap=True)


def print_picture(console: Console, picture: Picture) -> None:
    """Print a whole picture: as plain text has it, with colours, and with long lines wrapped inside the tree."""
    for line in picture.head:
        print_line(console, line)
    for row in rows(picture):
        left = columns(row)
        most = max(0, console.width - len(left) - _NARROWEST)
        first = Text(left + _fitted(row.branch, most), "dim")
        others = Text(" " * len(left) + _fitted(row.stem, most), "dim")
        for printed in _wrapped(console, _text(row.line), first, others):
            console.print(printed, soft_wrap=True)
    for line in picture.tail:
        print_line(console, line)


def _fitted(branches: str, most: int) -> str:
    """The branches of a tree that is deeper than the width allows: their beginning."""
    return branches if len(branches) <= most else branches[: max(0, most - 1)] + "…"


def _wrapped(console: Console, text: Text, first: Text, others: Text) -> Iterator[Text]:
    """`text` in as many lines as the width asks for, behind what stands before the first and before all others."""
    width = max(_NARROWEST, console.width - others.cell_len)
    for number, line in enumerate(text.wrap(console, width) or [Text()]):
        line.rstrip()
        yield Text.assemble(others if number else first, line)


def _text(line: Line) -> Text:
    return Text.assemble(*((part.text, STYLES[part.role]) for part in line))


@contextmanager
def progress_bar(console: Console) -> Iterator[Callable[[int, int], None]]:
    """What `read` tells its progress to: a bar that is gone when it is done, for long sources only."""
    progress = Progress(
        TextColumn("reading"), BarColumn(), DownloadColumn(), console=console, transient=True
    )
    task = progress.add_task("reading", total=None)

    def told(done: int, size: int) -> None:
        if size >= _LONG_BYTES:
            progress.start()
            progress.update(task, completed=done, total=size)

    try:
        yield told
    finally:
        progress.stop()


@contextmanager
def count_bar(console: Console) -> Iterator[Callable[[int, int], None]]:
    """What a backend is told by: how many traces of how many; 0 of 0 while they are searched for."""
    columns_ = (TextColumn("asking"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns_, console=console, transient=True) as progress:
        task = progress.add_task("asking", total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of or None)
