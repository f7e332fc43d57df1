"""The command `failgraph`. Results on stdout, everything else on stderr."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NoReturn

from failgraph.errors import ConfigError, SourceError
from failgraph.settings import checked

DONE: Final = 0
"""Done; that a source holds no failures is no error."""

FINDING: Final = 1
"""A finding: with `--strict`, something was lost."""

WRONG_USE: Final = 2
"""Wrong use, or settings that cannot be used."""

NO_SOURCE: Final = 3
"""The source cannot be read, holds no trace, or not that trace."""

_MAX_DIGITS = 200_000
"""Digits of an exit code that is still printed; the codec reads no longer one."""


class _Parser(argparse.ArgumentParser):
    """Shows what it complains of as every other message is shown."""

    def error(self, message: str) -> NoReturn:
        from failgraph.view.neutral import neutral

        super().error(neutral(message, 2000))


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
        command: Callable[[argparse.Namespace], int] = arguments.command
        code = command(arguments)
        sys.stdout.flush()
        return code
    except ConfigError as error:
        for problem in error.problems:
            _say(problem)
        return WRONG_USE
    except SourceError as error:
        from failgraph.view.neutral import neutral

        _say(neutral(str(error), 2000))
        return NO_SOURCE
    except BrokenPipeError:
        # The reader of a pipe has seen enough; Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return 130


def _parser() -> _Parser:
    parser = _Parser(prog="failgraph")
    parser.description = "NeMo Gym's failure records in OpenTelemetry traces, and back out of them."
    parser.epilog = "exit codes: 0 done, 1 a finding, 2 wrong use, 3 the source cannot be read or lacks that trace"
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="run rollouts that really fail, and show their failure graphs")
    demo.add_argument(
        "--out", metavar="FILE", help="where the traces go, as OTLP JSON lines; by default a temporary file"
    )
    demo.set_defaults(command=_demo)

    listing = commands.add_parser("list", help="one line for each trace with failures")
    showing = commands.add_parser("show", help="the failure tree of one trace, or of every one with failures")
    for command, action in ((listing, _list), (showing, _show)):
        command.add_argument("source", metavar="FILE", help="an OTLP JSON file: JSON lines, or one document")
        command.add_argument("--json", action="store_true", help="JSON lines, one object a trace")
        command.add_argument("--strict", action="store_true", help="exit with 1 where anything was lost")
        command.set_defaults(command=action)
    showing.add_argument(
        "trace_id", metavar="TRACE_ID", nargs="?", help="32 hex digits; without it, every trace of `list`"
    )
    return parser


def _list(arguments: argparse.Namespace) -> int:
    from failgraph.view import list_line, list_row

    return _print(arguments, lambda trace: [list_line(trace)], list_row)


def _show(arguments: argparse.Namespace) -> int:
    from failgraph.view import show_row, tree_lines

    return _print(arguments, lambda trace: [*tree_lines(trace), ""], show_row)


def _print(
    arguments: argparse.Namespace, lines: Callable[..., Iterable[str]], row: Callable[..., dict[str, object]]
) -> int:
    """Print what the source holds, as lines or as JSON rows, and say what was lost."""
    from failgraph.readers import read
    from failgraph.view.tree import loss_lines

    reading = read(arguments.source)
    wanted = getattr(arguments, "trace_id", None)
    traces = reading.traces
    if wanted is not None:
        wanted = wanted.lower().zfill(32)
        if wanted not in reading.trace_ids:
            raise SourceError(
                f"{arguments.source} does not hold trace {wanted}; `failgraph list {arguments.source}` names the"
                f" {len(reading.traces)} of its {_traces(reading.trace_count)} that have failures"
            )
        traces = [trace for trace in traces if trace.trace_id == wanted]
    for trace in traces:
        for line in [json.dumps(row(trace))] if arguments.json else lines(trace):
            print(line)
    if not traces:
        _say(f"no failures in {_traces(1 if wanted else reading.trace_count)}")
    for line in loss_lines(reading.losses):
        _say(line)
    lost = bool(reading.losses) or any(trace.losses for trace in traces)
    return FINDING if arguments.strict and lost else DONE


def _demo(arguments: argparse.Namespace) -> int:
    try:
        from failgraph.demo import run
    except ImportError as error:
        _say(f"the demo needs {error.name}; install it with: pip install 'failgraph[demo]'")
        return WRONG_USE
    return run(arguments.out)


def _traces(count: int) -> str:
    return f"{count} {'trace' if count == 1 else 'traces'}"


def _say(line: str) -> None:
    print(f"failgraph: {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
