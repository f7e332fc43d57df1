"""The command line: commands, arguments and their help texts."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from failgraph.cli.filters import add_filters
from failgraph.cli.output_options import add_output_options
from failgraph.cli.source_arguments import SourceParser, add_sources

_DESCRIPTION = "Show which failure of a NeMo Gym rollout caused which, from its traces."
_EPILOG = """\
examples:
  failgraph list run/        which rollouts of a folder failed
  failgraph show run/ 7-1    why rollout 7-1 failed
  failgraph export run/rollouts_failures.jsonl -o http://localhost:4317
                             send saved rows to a Collector

exit codes:
  0  done
  1  --strict or doctor found a problem
  2  wrong use or settings
  3  a source cannot be read or has no such trace, or an output cannot be
     written
"""


class _Command(NamedTuple):
    """A command.

    Attributes:
        name: The name on the command line.
        summary: One line of `failgraph --help`.
        function: The function that runs it, as `module:function` of this package. It is loaded by
            name, so that a command loads only what it needs.
        add_arguments: Adds its arguments to its parser.
        example: A call, shown below its help.
        checks_settings: True if invalid settings stop the command before it starts.
    """

    name: str
    summary: str
    function: str
    add_arguments: Callable[[SourceParser], None]
    example: str
    checks_settings: bool = True


class _Version(argparse.Action):
    """Prints the version. A copied package has no metadata, so it is looked up only when asked."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version  # slow to load

        parser.exit(message=f"failgraph {version('failgraph')}\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands.

    Parsed arguments also have `function` and `checks_settings` of the chosen command.
    """
    # The formatter keeps the lines of descriptions and epilogs as they are.
    formatter = argparse.RawDescriptionHelpFormatter
    parser = SourceParser(
        prog="failgraph", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=formatter
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = parser.add_subparsers(prog=parser.prog, required=True, metavar="COMMAND")
    for command in _COMMANDS:
        subparser = subparsers.add_parser(
            command.name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=f"example:\n  {command.example}",
            formatter_class=formatter,
        )
        subparser.set_defaults(function=command.function, checks_settings=command.checks_settings)
        command.add_arguments(subparser)
    return parser


def _add_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="new file for the traces, as OTLP JSON lines (default: a temporary file)",
    )


def _add_reading(parser: SourceParser, *, with_ids: bool = False) -> None:
    add_sources(parser, with_ids=with_ids)
    add_filters(parser)
    add_output_options(parser)


def _add_show(parser: SourceParser) -> None:
    _add_reading(parser, with_ids=True)


def _add_export(parser: SourceParser) -> None:
    add_sources(parser, files_only=True)
    parser.add_argument(
        "-o",
        "--output",
        metavar="TARGET",
        required=True,
        help="OTLP endpoint such as http://localhost:4317, or file of OTLP JSON lines",
    )


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        nargs="?",
        type=_not_standard_input,
        help="where exported traces arrive: jaeger, tempo, a URL, or a Collector's file",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="print all checks, also of defaults",
    )
    parser.add_argument(
        "--json", action="store_true", help="print all checks, one JSON object per line"
    )


def _not_standard_input(source: str) -> str:
    """Return a source that can be read after the failure was sent, and again until it arrives."""
    if source == "-":
        raise argparse.ArgumentTypeError("cannot be standard input. Name a file or a backend")
    return source


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [-h] -- COMMAND [ARGUMENT ...]"
    parser.add_argument(
        "argv", metavar="COMMAND", nargs=argparse.REMAINDER, help="program and its arguments"
    )


_COMMANDS = (
    _Command(
        "list",
        "print one line for each rollout (or trace) with failures",
        "reading:list_traces",
        _add_reading,
        example="failgraph list run/ --since 2h --kind sandbox:killed",
    ),
    _Command(
        "show",
        "print the failure tree of a rollout or a trace",
        "reading:show",
        _add_show,
        example="failgraph show run/ 7-1",
    ),
    _Command(
        "top",
        "count failures by boundary, kind and service, with the time they cost",
        "reading:top",
        _add_reading,
        example="failgraph top jaeger --since 1d --service judge",
    ),
    _Command(
        "export",
        "send spans, saved rollouts or journals to an OTLP endpoint or a file",
        "exporting:export",
        _add_export,
        example="failgraph export run/rollouts_failures.jsonl -o http://localhost:4317",
    ),
    _Command(
        "run",
        "run a program with failgraph on",
        "launching:run",
        _add_run,
        example="failgraph run -- python server.py",
    ),
    _Command(
        "doctor",
        "check settings; send one failure and read it back",
        "doctor:doctor",
        _add_doctor,
        example="failgraph doctor jaeger",
        checks_settings=False,  # it reports invalid settings itself
    ),
    _Command(
        "demo",
        "run a collector and four servers that fail, and show why",
        "launching:demo",
        _add_demo,
        example="failgraph demo -o demo.jsonl",
    ),
)
