"""Trees and lines on a terminal, drawn by rich: colours by boundary, lines wrapped to the width.

Only imported if rich is installed. rich honours `NO_COLOR`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from failgraph.view.lines import Line
from failgraph.view.plain_text import time_columns, tree_rows
from failgraph.view.tree import FailureTree

# Names of colours only, so that light and dark terminals each show their own.
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

_MIN_TEXT_WIDTH = 24  # characters that a line gets, however deep the tree
_LARGE_SOURCE = 16 << 20  # bytes from which reading shows a progress bar


def print_line(console: Console, line: Line) -> None:
    """Print one line; the rest of a long one is indented below it."""
    for wrapped in _wrap(console, _text(line), Text(), Text("    ")):
        console.print(wrapped, soft_wrap=True)


def print_tree(console: Console, tree: FailureTree) -> None:
    """Print a tree as plain text has it, with colours, and long lines wrapped inside the tree."""
    for line in tree.header:
        print_line(console, line)
    for row in tree_rows(tree):
        columns = time_columns(row)
        room = max(0, console.width - len(columns) - _MIN_TEXT_WIDTH)
        first = Text(columns + _cut_branch(row.branch, room), "dim")
        rest = Text(" " * len(columns) + _cut_branch(row.stem, room), "dim")
        for wrapped in _wrap(console, _text(row.line), first, rest):
            console.print(wrapped, soft_wrap=True)
    for line in tree.footer:
        print_line(console, line)


def _cut_branch(branch: str, room: int) -> str:
    """Return the beginning of the branches of a tree that is deeper than the terminal is wide."""
    return branch if len(branch) <= room else branch[: max(0, room - 1)] + "…"


def _wrap(console: Console, text: Text, first: Text, rest: Text) -> Iterator[Text]:
    """Wrap `text` to the width, with `first` in front of the first line and `rest` of others."""
    width = max(_MIN_TEXT_WIDTH, console.width - rest.cell_len)
    for number, line in enumerate(text.wrap(console, width) or [Text()]):
        line.rstrip()
        yield Text.assemble(rest if number else first, line)


def _text(line: Line) -> Text:
    return Text.assemble(*((segment.text, STYLES[segment.role]) for segment in line))


@contextmanager
def reading_bar(console: Console) -> Iterator[Callable[[int, int], None]]:
    """Provide the progress callback of `readers.read`, which gets bytes read and bytes in all.

    Large sources show a bar, which disappears at the end.
    """
    progress = Progress(
        TextColumn("reading"), BarColumn(), DownloadColumn(), console=console, transient=True
    )
    task = progress.add_task("reading", total=None)

    def update(done: int, size: int) -> None:
        if size >= _LARGE_SOURCE:
            progress.start()
            progress.update(task, completed=done, total=size)

    try:
        yield update
    finally:
        progress.stop()


@contextmanager
def fetching_bar(console: Console) -> Iterator[Callable[[int, int], None]]:
    """Provide the progress callback of `read_backend`, which gets traces fetched and in all.

    While the backend is searched both are 0, and the bar shows no total.
    """
    columns = (TextColumn("fetching"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("fetching", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total or None)
