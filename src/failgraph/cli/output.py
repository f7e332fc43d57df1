"""Output of the commands: results on standard output, progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TextIO

from failgraph.readers import Trace
from failgraph.readers.source import Progress
from failgraph.view import failure_tree, line_text, list_line, list_row, show_row, tree_text
from failgraph.view.lines import Line


class TraceFormat(NamedTuple):
    """How a command prints traces.

    Attributes:
        json_row: Returns the JSON object of a trace, for programs.
        draw: Prints traces for people.
    """

    json_row: Callable[[Trace], Mapping[str, object]]
    draw: Callable[[Sequence[Trace]], None]


class _Terminal(NamedTuple):
    """A terminal that rich draws on. Not typed further, since rich may be missing.

    Attributes:
        view: The module `failgraph.view.terminal`.
        console: A `rich.console.Console`.
    """

    view: Any
    console: Any


def print_json(rows: Iterable[Mapping[str, object]]) -> None:
    """Print one JSON object per line."""
    for row in rows:
        print(json.dumps(row))


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines, with colours on a terminal if rich is installed."""
    terminal = _terminal(sys.stdout)
    for line in lines:
        if terminal is None:
            print(line_text(line))
        else:
            terminal.view.print_line(terminal.console, line)


def draw_lines(traces: Sequence[Trace]) -> None:
    """Print one line for each trace, as `list` does."""
    print_lines(map(list_line, traces))


def draw_trees(traces: Sequence[Trace]) -> None:
    """Print the failure tree of each trace, as `show` does."""
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
def reading_progress() -> Iterator[Progress | None]:
    """Show a bar of the bytes read, if standard error is a terminal.

    Yields:
        The callback that updates the bar, or None without a bar.
    """
    terminal = _terminal(sys.stderr)
    if terminal is None:
        yield None
        return
    with terminal.view.reading_bar(terminal.console) as callback:
        yield callback


@contextmanager
def fetching_progress() -> Iterator[Progress | None]:
    """Show a bar of the traces fetched, if standard error is a terminal.

    Yields:
        The callback that updates the bar, or None without a bar.
    """
    terminal = _terminal(sys.stderr)
    if terminal is None:
        yield None
        return
    with terminal.view.fetching_bar(terminal.console) as callback:
        yield callback


def _terminal(stream: TextIO) -> _Terminal | None:
    """Return a terminal, or None if the stream is not one or rich is not installed."""
    if not stream.isatty():
        return None
    try:
        from rich.console import Console

        from failgraph.view import terminal
    except ImportError:
        return None
    return _Terminal(terminal, Console(file=stream))
