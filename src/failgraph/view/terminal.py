"""A picture on a terminal, drawn by rich: colours by boundary, lines that fit the width, `NO_COLOR` honoured.

Only imported where rich is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.text import Text

from failgraph.view.picture import Line, Picture
from failgraph.view.plain import Row, columns, rows

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
"""Characters that a line gets at least, however narrow the terminal and however deep the tree."""

_LONG_BYTES = 16 << 20
"""A source from this size on gets a progress bar."""


def print_line(console: Console, line: Line) -> None:
    """Print one line, never broken: a terminal that is too narrow wraps it itself."""
    console.print(_text(line), soft_wrap=True)


def print_picture(console: Console, picture: Picture) -> None:
    """Print a whole picture: as plain text has it, with colours, and with long lines wrapped inside the tree."""
    for line in picture.head:
        console.print(_text(line))
    for row in rows(picture):
        for printed in _wrapped(console, row):
            console.print(printed, soft_wrap=True)
    for line in picture.tail:
        console.print(_text(line))


def _wrapped(console: Console, row: Row) -> Iterator[Text]:
    """A row in as many lines as the width asks for; those after the first keep the branches of the tree."""
    left = columns(row)
    width = max(_NARROWEST, console.width - len(left) - len(row.stem))
    for number, line in enumerate(_text(row.line).wrap(console, width) or [Text()]):
        line.rstrip()
        branch = row.branch if number == 0 else row.stem
        yield Text.assemble((left if number == 0 else " " * len(left), "dim"), (branch, "dim"), line)


def _text(line: Line) -> Text:
    return Text.assemble(*((part.text, STYLES[part.role]) for part in line))


@contextmanager
def progress_bar(console: Console) -> Iterator[Callable[[int, int], None]]:
    """What `read` tells its progress to: a bar that is gone when it is done, for long sources only."""
    progress = Progress(TextColumn("reading"), BarColumn(), DownloadColumn(), console=console, transient=True)
    task = progress.add_task("reading", total=None)

    def told(done: int, size: int) -> None:
        if size >= _LONG_BYTES:
            progress.start()
            progress.update(task, completed=done, total=size)

    try:
        yield told
    finally:
        progress.stop()
