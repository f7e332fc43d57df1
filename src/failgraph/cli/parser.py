"""What the command takes."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from typing import NoReturn

from failgraph.cli import doctor, importing, reading, starting
from failgraph.cli.filters import add_filters
from failgraph.view.neutral import shown


class Parser(argparse.ArgumentParser):
    """Shows what it complains of as every other message is shown."""

    def error(self, message: str) -> NoReturn:
        """Say it, and end with 2."""
        super().error(shown(message, 2000))


class _Version(argparse.Action):
    """Prints the version; looked up only when somebody asks, since a copied package has no metadata."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        parser.exit(message=f"failgraph {version('failgraph')}\n")


def parser() -> Parser:
    """All commands; `command` of what it parses is the function that does it."""
    whole = Parser(prog="failgraph")
    whole.description = "NeMo Gym's failure records in OpenTelemetry traces, and back out of them."
    whole.epilog = "exit codes: 0 done, 1 a finding, 2 wrong use, 3 the source cannot be read or lacks that trace"
    whole.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = whole.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="run rollouts that really fail, and show their failure graphs")
    demo.add_argument(
        "--out", metavar="FILE", help="where the traces go, as OTLP JSON lines; by default a temporary file"
    )
    demo.set_defaults(command=starting.demo)

    listing = commands.add_parser("list", help="one line for each trace with failures")
    showing = commands.add_parser("show", help="the failure tree of one trace, or of every one with failures")
    ranking = commands.add_parser("top", help="which failures there are most of, and what they cost")
    for command, action in ((listing, reading.list_traces), (showing, reading.show), (ranking, reading.top)):
        command.add_argument(
            "source",
            metavar="SOURCE",
            help="a file, a journal's directory, - for standard input, jaeger, tempo, or an address of theirs",
        )
        command.add_argument("--json", action="store_true", help="JSON lines, one object a trace or row")
        command.add_argument("--strict", action="store_true", help="exit with 1 where anything was lost")
        add_filters(command)
        command.set_defaults(command=action)
    showing.add_argument(
        "trace_id", metavar="TRACE_ID", nargs="?", help="32 hex digits, or the first ones; without it, all of `list`"
    )

    taking = commands.add_parser("import", help="what NeMo Gym saved, or a journal has, as traces beside the live ones")
    taking.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="rollouts.jsonl, rollouts_failures.jsonl, a journal; also in gzip",
    )
    taking.add_argument(
        "--to", metavar="TARGET", required=True, help="an OTLP endpoint (http://…), or a file of OTLP JSON lines"
    )
    taking.set_defaults(command=importing.import_files)

    examining = commands.add_parser("doctor", help="what is set and attached; sends a failure and reads it back")
    examining.add_argument("source", metavar="SOURCE", nargs="?", help="where what is sent arrives: jaeger, tempo, …")
    examining.add_argument("--json", action="store_true", help="JSON lines, one object a check")
    examining.set_defaults(command=doctor.doctor, checks_settings=True)

    running = commands.add_parser(
        "run", help="run a program with failgraph enabled", usage="%(prog)s [-h] -- COMMAND [ARGUMENT ...]"
    )
    running.add_argument("argv", metavar="COMMAND", nargs=argparse.REMAINDER, help="the program and its arguments")
    running.set_defaults(command=starting.run)
    return whole
