"""How the commands print their results: on stdout, with rich on a terminal; and progress, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from failgraph.backends import Told
from failgraph.readers import Trace
from failgraph.readers.source import Progress
from failgraph.view import failure_tree, line_text, list_line, list_row, show_row, tree_text
from failgraph.view.lines import Line
from failgraph.view.tree import FailureTree


class Output(NamedTuple):
    """How a command shows a trace: as a JSON row, and as a line or as a tree."""

    row: Callable[[Trace], dict[str, object]]
    line: Callable[[Trace], Line] | None
    tree: Callable[[Trace], FailureTree] | None


LIST = Output(list_row, list_line, None)
SHOW = Output(show_row, None, failure_tree)


def draw(traces: Sequence[Trace], output: Output) -> None:
    """Print traces for people."""
    if output.line is not None:
        print_lines(map(output.line, traces))
    if output.tree is not None:
        terminal, console = _console()
        for trace in traces:
            drawn = output.tree(trace)
            print("\n".join(tree_text(drawn))) if terminal is None else terminal.print_tree(
                console, drawn
            )
            print()


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines: with rich on a terminal, as plain text elsewhere, the same content."""
    terminal, console = _console()
    for line in lines:
        print(line_text(line)) if terminal is None else terminal.print_line(console, line)


def _console() -> tuple[Any, Any]:
    """The module that draws, and rich's console; None and None where plain text is to be printed."""
    terminal = _terminal() if sys.stdout.isatty() else None
    return terminal, None if terminal is None else terminal.Console()


@contextmanager
def progress() -> Iterator[Progress | None]:
    """What readers tell their progress to: a bar on stderr where somebody is looking, else None."""
    terminal = _terminal() if sys.stderr.isatty() else None
    if terminal is None:
        yield None
    else:
        with terminal.reading_bar(terminal.Console(stderr=True)) as told:
            yield told


@contextmanager
def fetching() -> Iterator[Told | None]:
    """What backends tell their progress to, in the same way."""
    terminal = _terminal() if sys.stderr.isatty() else None
    if terminal is None:
        yield None
    else:
        with terminal.fetching_bar(terminal.Console(stderr=True)) as told:
            yield told


def _terminal() -> Any:
    """The module that draws with rich; None where rich is not installed."""
    try:
        from failgraph.view import terminal
    except ImportError:
        return None
    return terminal
