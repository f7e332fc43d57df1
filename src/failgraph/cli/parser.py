"""What the command takes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from failgraph.cli.filters import add_filters
from failgraph.cli.messages import redacted


class _Command(NamedTuple):
    """A command.

    Attributes:
        name: As the user types it.
        summary: One line for `failgraph --help`.
        function: What runs it, as `module:function` of this package: only the chosen one is loaded.
        add_arguments: Adds its arguments to its parser.
        checks_settings: True if settings that cannot be used end it before it starts.
    """

    name: str
    summary: str
    function: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    checks_settings: bool = True


class _Parser(argparse.ArgumentParser):
    """Shows what it complains of as every other message is shown."""

    def error(self, message: str) -> NoReturn:
        """Say it, and end with 2."""
        super().error(redacted(message))


class _Version(argparse.Action):
    """Prints the version; looked up only when somebody asks, since a copied package has no metadata."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version  # slow to load

        parser.exit(message=f"failgraph {version('failgraph')}\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands.

    What it parses has `function` and `checks_settings` of the chosen command, besides its arguments.
    """
    parser = _Parser(prog="failgraph")
    parser.description = "NeMo Gym's failure records in OpenTelemetry traces, and back out of them."
    parser.epilog = "exit codes: 0 done, 1 a finding, 2 wrong use, 3 the source cannot be read or lacks that trace"
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    subparsers = parser.add_subparsers(prog=parser.prog, required=True, metavar="COMMAND")
    for command in _COMMANDS:
        subparser = subparsers.add_parser(command.name, help=command.summary)
        subparser.set_defaults(function=command.function, checks_settings=command.checks_settings)
        command.add_arguments(subparser)
    return parser


def _add_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="where the traces go, as OTLP JSON lines; by default a temporary file",
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a file, a journal's directory, - for standard input, jaeger, tempo, or an address of theirs",
    )
    parser.add_argument("--json", action="store_true", help="JSON lines, one object a trace or row")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where anything was lost")
    add_filters(parser)


def _add_show(parser: argparse.ArgumentParser) -> None:
    _add_reading(parser)
    parser.add_argument(
        "trace_id",
        metavar="TRACE_ID",
        nargs="?",
        help="32 hex digits, or the first ones; without it, all of `list`",
    )


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="rollouts.jsonl, rollouts_failures.jsonl, a journal; also in gzip",
    )
    parser.add_argument(
        "--to",
        metavar="TARGET",
        required=True,
        help="an OTLP endpoint (http://…), or a file of OTLP JSON lines",
    )


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="SOURCE", nargs="?", help="where what is sent arrives: jaeger, tempo, …"
    )
    parser.add_argument("--json", action="store_true", help="JSON lines, one object a check")


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [-h] -- COMMAND [ARGUMENT ...]"
    parser.add_argument(
        "argv", metavar="COMMAND", nargs=argparse.REMAINDER, help="the program and its arguments"
    )


_COMMANDS = (
    _Command(
        "demo",
        "run rollouts that really fail, and show their failure graphs",
        "launching:demo",
        _add_demo,
    ),
    _Command("list", "one line for each trace with failures", "reading:list_traces", _add_reading),
    _Command(
        "show",
        "the failure tree of one trace, or of every one with failures",
        "reading:show",
        _add_show,
    ),
    _Command(
        "top", "which failures there are most of, and what they cost", "reading:top", _add_reading
    ),
    _Command(
        "import",
        "what NeMo Gym saved, or a journal has, as traces beside the live ones",
        "importing:import_files",
        _add_import,
    ),
    _Command(
        "doctor",
        "what is set and attached; sends a failure and reads it back",
        "doctor:doctor",
        _add_doctor,
        checks_settings=False,  # which settings are wrong is what it shows
    ),
    _Command("run", "run a program with failgraph enabled", "launching:run", _add_run),
)
