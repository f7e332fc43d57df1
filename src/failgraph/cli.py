"""The command `failgraph`. Results on stdout, everything else on stderr."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, Final, NamedTuple, NoReturn

from failgraph.errors import ConfigError, SourceError
from failgraph.readers import Reading, Trace, read
from failgraph.redaction import missing_function
from failgraph.settings import ENABLED, checked
from failgraph.view import list_line, list_row, loss_lines, neutral, picture, plain, plain_lines, show_row
from failgraph.view.picture import Line, Picture

DONE: Final = 0
"""Done; that a source holds no failures is no error."""

FINDING: Final = 1
"""A finding: with `--strict`, something was lost."""

WRONG_USE: Final = 2
"""Wrong use, or settings that cannot be used."""

NO_SOURCE: Final = 3
"""The source cannot be read, holds no trace, or not that trace; or the output cannot be written."""

_TRACE_ID = re.compile("[0-9a-fA-F]{1,32}")
_MAX_DIGITS = 20_000
"""Digits of an exit code that is still printed; the codec reads no longer one."""


class _Parser(argparse.ArgumentParser):
    """Shows what it complains of as every other message is shown."""

    def error(self, message: str) -> NoReturn:
        super().error(neutral(message, 2000))


class _Version(argparse.Action):
    """Prints the version; looked up only when somebody asks, since a copied package has no metadata."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        parser.exit(message=f"failgraph {version('failgraph')}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(_MAX_DIGITS)
    try:
        arguments = _parser().parse_args(argv)
        checked(os.environ)
        problem = missing_function()
        if problem is not None:
            raise ConfigError([problem])
        command: Callable[[argparse.Namespace], int] = arguments.command
        code = command(arguments)
        sys.stdout.flush()
        return code
    except ConfigError as error:
        for problem in error.problems:
            _say(problem)
        return WRONG_USE
    except SourceError as error:
        _say(neutral(str(error), 2000))
        return NO_SOURCE
    except BrokenPipeError:
        _drop_stdout()  # whoever reads the pipe has seen enough
        return DONE
    except OSError as error:
        _drop_stdout()
        _say(f"the output cannot be written: {error.strerror}")
        return NO_SOURCE
    except KeyboardInterrupt:
        return 130


def _drop_stdout() -> None:
    """Keep Python from complaining once more when it closes a stdout that takes nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> _Parser:
    parser = _Parser(prog="failgraph")
    parser.description = "NeMo Gym's failure records in OpenTelemetry traces, and back out of them."
    parser.epilog = "exit codes: 0 done, 1 a finding, 2 wrong use, 3 the source cannot be read or lacks that trace"
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="run rollouts that really fail, and show their failure graphs")
    demo.add_argument(
        "--out", metavar="FILE", help="where the traces go, as OTLP JSON lines; by default a temporary file"
    )
    demo.set_defaults(command=_demo)

    listing = commands.add_parser("list", help="one line for each trace with failures")
    showing = commands.add_parser("show", help="the failure tree of one trace, or of every one with failures")
    for command, action in ((listing, _list), (showing, _show)):
        command.add_argument("source", metavar="FILE", help="of OTLP, Jaeger or Tempo; - for standard input")
        command.add_argument("--json", action="store_true", help="JSON lines, one object a trace")
        command.add_argument("--strict", action="store_true", help="exit with 1 where anything was lost")
        command.set_defaults(command=action)
    showing.add_argument(
        "trace_id", metavar="TRACE_ID", nargs="?", help="32 hex digits; without it, every trace of `list`"
    )
    running = commands.add_parser(
        "run", help="run a program with failgraph enabled", usage="%(prog)s [-h] -- COMMAND [ARGUMENT ...]"
    )
    running.add_argument("argv", metavar="COMMAND", nargs=argparse.REMAINDER, help="the program and its arguments")
    running.set_defaults(command=_run)
    return parser


def _run(arguments: argparse.Namespace) -> int:
    """Become the program, with the variable set; comes back only where that cannot be done."""
    argv = arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv
    if not argv:
        _say("run what? failgraph run -- COMMAND [ARGUMENT ...]")
        return WRONG_USE
    try:
        os.execvpe(argv[0], argv, {**os.environ, ENABLED: "true"})  # noqa: S606 - it is what was asked for
    except (OSError, ValueError) as error:
        _say(neutral(f"cannot run {argv[0]!r}: {getattr(error, 'strerror', None) or error}"))
    return WRONG_USE


def _list(arguments: argparse.Namespace) -> int:
    return _print(arguments, _LIST)


def _show(arguments: argparse.Namespace) -> int:
    return _print(arguments, _SHOW)


class _Output(NamedTuple):
    """How a command shows a trace: as a JSON row, and as a line or as a picture."""

    row: Callable[[Trace], dict[str, object]]
    line: Callable[[Trace], Line] | None
    picture: Callable[[Trace], Picture] | None


_LIST = _Output(list_row, list_line, None)
_SHOW = _Output(show_row, None, picture)


def _print(arguments: argparse.Namespace, output: _Output) -> int:
    """Print what the source holds, and say what was lost."""
    reading = _read(arguments.source)
    traces = reading.traces
    wanted = getattr(arguments, "trace_id", None)
    if wanted is not None:
        if not _TRACE_ID.fullmatch(wanted):
            what = wanted or "an empty text"
            raise SourceError(f"{what} is no trace id of 32 hex digits; `failgraph list {arguments.source}` names some")
        wanted = wanted.lower().zfill(32)
        if wanted not in reading.trace_ids:
            raise SourceError(
                f"{arguments.source} does not hold trace {wanted}; `failgraph list {arguments.source}` names the"
                f" {len(reading.traces)} of its {_traces(reading.trace_count)} that have failures"
            )
        traces = [trace for trace in traces if trace.trace_id == wanted]
    if arguments.json:
        for trace in traces:
            print(json.dumps(output.row(trace)))
    else:
        _draw(traces, output)
    if not traces:
        _say(f"no failures in {_traces(1 if wanted else reading.trace_count)}")
    for line in loss_lines(reading.losses):
        _say(plain(line))
    lost = bool(reading.losses) or any(trace.losses for trace in traces)
    return FINDING if arguments.strict and lost else DONE


def _draw(traces: Sequence[Trace], output: _Output) -> None:
    """Print traces for people: with rich on a terminal, as plain text elsewhere, the same content."""
    terminal = _terminal() if sys.stdout.isatty() else None
    console = terminal.Console() if terminal is not None else None
    for trace in traces:
        if output.line is not None:
            line = output.line(trace)
            print(plain(line)) if terminal is None else terminal.print_line(console, line)
        if output.picture is not None:
            drawn = output.picture(trace)
            print("\n".join(plain_lines(drawn))) if terminal is None else terminal.print_picture(console, drawn)
            print()


def _read(source: str) -> Reading:
    """Read a source, with a progress bar where somebody is looking."""
    terminal = _terminal() if sys.stderr.isatty() else None
    if terminal is None:
        return read(source)
    with terminal.progress_bar(terminal.Console(stderr=True)) as progress:
        return read(source, progress)


def _terminal() -> Any:
    """The module that draws with rich; None where rich is not installed."""
    try:
        from failgraph.view import terminal
    except ImportError:
        return None
    return terminal


def _demo(arguments: argparse.Namespace) -> int:
    try:
        from failgraph.demo.running import check, run

        check()
    except ImportError as error:
        _say(f"the demo needs {error.name} and the rest of failgraph[demo]: pip install 'failgraph[demo]'")
        return WRONG_USE
    return run(arguments.out, lambda traces: _draw(traces, _SHOW))


def _traces(count: int) -> str:
    return f"{count} {'trace' if count == 1 else 'traces'}"


def _say(line: str) -> None:
    print(f"failgraph: {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
