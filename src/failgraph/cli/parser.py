"""What the command takes."""

from __future__ import annotations

import argparse
import os
import sys

from failgraph.cli.messages import without_secrets

TYPE_CHECKING = False  # as `typing` has it, which is slow to load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn


class _Formatter(argparse.HelpFormatter):
    """Finds the width as argparse does, which loads `shutil` for it, and that every kind of compression."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


class Parser(argparse.ArgumentParser):
    """Shows what it complains of as every other message is shown."""

    def __init__(self, **given: Any) -> None:
        super().__init__(formatter_class=_Formatter, **given)

    def error(self, message: str) -> NoReturn:
        """Say it, and end with 2."""
        super().error(without_secrets(message))


class _Version(argparse.Action):
    """Prints the version; looked up only when somebody asks, since a copied package has no metadata."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        parser.exit(message=f"failgraph {version('failgraph')}\n")


def parser(argv: Sequence[str]) -> Parser:
    """All commands, with the arguments of those that `argv` may mean: nobody waits for what nobody sees.

    `command` of what it parses names the function that does it: `module:function` of this package.
    """
    whole = Parser(prog="failgraph")
    whole.description = "NeMo Gym's failure records in OpenTelemetry traces, and back out of them."
    whole.epilog = "exit codes: 0 done, 1 a finding, 2 wrong use, 3 the source cannot be read or lacks that trace"
    whole.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = whole.add_subparsers(prog=whole.prog, required=True, metavar="COMMAND")
    for name, (summary, function, add_arguments) in _COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        command.set_defaults(command=function)
        if name in argv:
            add_arguments(command)
    return whole


def _demo(command: Parser) -> None:
    command.add_argument(
        "--out",
        metavar="FILE",
        help="where the traces go, as OTLP JSON lines; by default a temporary file",
    )


def _reading(command: Parser) -> None:
    command.add_argument(
        "source",
        metavar="SOURCE",
        help="a file, a journal's directory, - for standard input, jaeger, tempo, or an address of theirs",
    )
    command.add_argument(
        "--json", action="store_true", help="JSON lines, one object a trace or row"
    )
    command.add_argument(
        "--strict", action="store_true", help="exit with 1 where anything was lost"
    )
    from failgraph.cli.filters import add_filters  # nobody else needs them

    add_filters(command)


def _show(command: Parser) -> None:
    _reading(command)
    command.add_argument(
        "trace_id",
        metavar="TRACE_ID",
        nargs="?",
        help="32 hex digits, or the first ones; without it, all of `list`",
    )


def _import(command: Parser) -> None:
    command.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="rollouts.jsonl, rollouts_failures.jsonl, a journal; also in gzip",
    )
    command.add_argument(
        "--to",
        metavar="TARGET",
        required=True,
        help="an OTLP endpoint (http://…), or a file of OTLP JSON lines",
    )


def _doctor(command: Parser) -> None:
    command.add_argument(
        "source", metavar="SOURCE", nargs="?", help="where what is sent arrives: jaeger, tempo, …"
    )
    command.add_argument("--json", action="store_true", help="JSON lines, one object a check")
    command.set_defaults(checks_settings=True)


def _run(command: Parser) -> None:
    command.usage = "%(prog)s [-h] -- COMMAND [ARGUMENT ...]"
    command.add_argument(
        "argv", metavar="COMMAND", nargs=argparse.REMAINDER, help="the program and its arguments"
    )


_COMMANDS: Mapping[str, tuple[str, str, Callable[[Parser], None]]] = {
    "demo": (
        "run rollouts that really fail, and show their failure graphs",
        "launching:demo",
        _demo,
    ),
    "list": ("one line for each trace with failures", "reading:list_traces", _reading),
    "show": ("the failure tree of one trace, or of every one with failures", "reading:show", _show),
    "top": ("which failures there are most of, and what they cost", "reading:top", _reading),
    "import": (
        "what NeMo Gym saved, or a journal has, as traces beside the live ones",
        "importing:import_files",
        _import,
    ),
    "doctor": (
        "what is set and attached; sends a failure and reads it back",
        "doctor:doctor",
        _doctor,
    ),
    "run": ("run a program with failgraph enabled", "launching:run", _run),
}
"""By name: what help says of it, what does it, and what gives it its arguments."""


def _columns() -> int:
    """The width of the terminal, as `shutil.get_terminal_size` has it."""
    try:
        columns = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        columns = 0
    if columns > 0:
        return columns
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return 80
