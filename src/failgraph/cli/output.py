"""Output of the commands: results on standard output, progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TextIO

from failgraph.cli.output_options import OutputOptions
from failgraph.errors import ConfigError
from failgraph.readers import Trace
from failgraph.readers.source import Progress
from failgraph.view import failure_tree, line_text, list_lines, list_row, show_row, tree_text
from failgraph.view.lines import Line

DEFAULTS = OutputOptions()
_MAX_WIDTH = 10_000  # columns of a line with colors that does not go to a terminal


class TraceFormat(NamedTuple):
    """How a command prints traces.

    Attributes:
        json_row: Returns the JSON object of a trace, for programs.
        draw: Prints traces for people.
    """

    json_row: Callable[[Trace], Mapping[str, object]]
    draw: Callable[[Sequence[Trace], OutputOptions], None]


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


def print_lines(lines: Iterable[Line], options: OutputOptions = DEFAULTS) -> None:
    """Print lines, with colours on a terminal if rich is installed."""
    terminal = _terminal(sys.stdout, options.color)
    for line in lines:
        if terminal is None:
            print(line_text(line))
        else:
            terminal.view.print_line(terminal.console, line)


def draw_list(traces: Sequence[Trace], options: OutputOptions = DEFAULTS) -> None:
    """Print one line for each trace, as `list` does."""
    print_lines(list_lines(traces, full=options.full, with_head=not options.quiet), options)


def draw_trees(traces: Sequence[Trace], options: OutputOptions = DEFAULTS) -> None:
    """Print the failure tree of each trace, as `show` does."""
    terminal = _terminal(sys.stdout, options.color)
    for trace in traces:
        tree = failure_tree(trace, full=options.full)
        if terminal is None:
            print("\n".join(tree_text(tree)))
        else:
            terminal.view.print_tree(terminal.console, tree)
        print()


LIST = TraceFormat(list_row, draw_list)
SHOW = TraceFormat(show_row, draw_trees)


@contextmanager
def reading_progress(*, quiet: bool = False) -> Iterator[Progress | None]:
    """Show a bar of the bytes read.

    Yield the callback for it, or None if standard error is no terminal or the command is quiet.
    """
    terminal = None if quiet else _terminal(sys.stderr)
    if terminal is None:
        yield None
        return
    with terminal.view.reading_bar(terminal.console) as callback:
        yield callback


@contextmanager
def fetching_progress(*, quiet: bool = False) -> Iterator[Progress | None]:
    """Show a bar of the traces fetched. Yield the callback for it, or None as above."""
    terminal = None if quiet else _terminal(sys.stderr)
    if terminal is None:
        yield None
        return
    with terminal.view.fetching_bar(terminal.console) as callback:
        yield callback


def _terminal(stream: TextIO, color: str = "auto") -> _Terminal | None:
    """Return a terminal for rich, or None for plain text.

    Args:
        stream: Where the lines go.
        color: `auto` for colors if the stream is a terminal and rich is installed, `always` for
            colors everywhere, `never` for plain lines.

    Raises:
        ConfigError: Colors must be used, but rich is not installed.
    """
    if color == "never" or (color == "auto" and not stream.isatty()):
        return None
    try:
        from rich.console import Console

        from failgraph.view import terminal
    except ImportError:
        if color == "always":
            message = "--color always needs rich. Run: pip install 'failgraph[cli]'"
            raise ConfigError([message]) from None
        return None
    if color == "auto":
        return _Terminal(terminal, Console(file=stream))
    # Wins over NO_COLOR. Without a terminal there is no width to wrap lines to.
    width = None if stream.isatty() else _MAX_WIDTH
    console = Console(
        file=stream, force_terminal=True, no_color=False, color_system="standard", width=width
    )
    return _Terminal(terminal, console)
