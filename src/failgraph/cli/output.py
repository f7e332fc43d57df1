"""How the commands print their results: on stdout, with rich on a terminal; and progress, on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TextIO

from failgraph.readers import Trace
from failgraph.view import failure_tree, line_text, list_line, list_row, show_row, tree_text
from failgraph.view.lines import Line

ProgressCallback = Callable[[int, int], None]  # done, total


class TraceFormat(NamedTuple):
    """How a command prints traces.

    Attributes:
        json_row: Returns the JSON object of a trace, for programs.
        draw: Prints traces for people.
    """

    json_row: Callable[[Trace], Mapping[str, object]]
    draw: Callable[[Sequence[Trace]], None]


class _Terminal(NamedTuple):
    """What draws on a terminal.

    Attributes:
        view: The module `failgraph.view.terminal`.
        console: The `rich.console.Console` that it draws on.
    """

    view: Any
    console: Any


def print_json(rows: Iterable[Mapping[str, object]]) -> None:
    """Print one JSON object a line."""
    for row in rows:
        print(json.dumps(row))


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines: with rich on a terminal, as plain text elsewhere, the same content."""
    terminal = _terminal(sys.stdout)
    for line in lines:
        if terminal is None:
            print(line_text(line))
        else:
            terminal.view.print_line(terminal.console, line)


def draw_lines(traces: Sequence[Trace]) -> None:
    """Print one line for each trace."""
    print_lines(map(list_line, traces))


def draw_trees(traces: Sequence[Trace]) -> None:
    """Print the failure tree of each trace."""
    terminal = _terminal(sys.stdout)
    for trace in traces:
        tree = failure_tree(trace)
        if terminal is None:
            print("\n".join(tree_text(tree)))
        else:
            terminal.view.print_tree(terminal.console, tree)
        print()


LIST = TraceFormat(list_row, draw_lines)
SHOW = TraceFormat(show_row, draw_trees)


@contextmanager
def reading_progress() -> Iterator[ProgressCallback | None]:
    """Show the bytes read of a file in a bar on stderr; gives what to call, or None if nobody looks."""
    terminal = _terminal(sys.stderr)
    if terminal is None:
        yield None
        return
    with terminal.view.reading_bar(terminal.console) as callback:
        yield callback


@contextmanager
def fetching_progress() -> Iterator[ProgressCallback | None]:
    """Show the traces fetched from a backend in the same way."""
    terminal = _terminal(sys.stderr)
    if terminal is None:
        yield None
        return
    with terminal.view.fetching_bar(terminal.console) as callback:
        yield callback


def _terminal(stream: TextIO) -> _Terminal | None:
    """Return what draws on `stream`, or None if it is no terminal or rich is not installed."""
    if not stream.isatty():
        return None
    try:
        from rich.console import Console

        from failgraph.view import terminal
    except ImportError:
        return None
    return _Terminal(terminal, Console(file=stream))
