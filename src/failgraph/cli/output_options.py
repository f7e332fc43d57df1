"""The options that say how results are printed, the same for every reading command."""

from __future__ import annotations

import argparse
from typing import NamedTuple

COLORS = ("auto", "always", "never")


class OutputOptions(NamedTuple):
    """How to print results.

    Attributes:
        json: True for one JSON object per line.
        ids: True for one id per line.
        full: True to print what is otherwise shortened or left out.
        quiet: True for results only: no table heads, notes, losses and progress.
        color: One of `COLORS`.
    """

    json: bool = False
    ids: bool = False
    full: bool = False
    quiet: bool = False
    color: str = "auto"


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Add the output options to the parser of a command."""
    group = parser.add_argument_group("output")
    forms = group.add_mutually_exclusive_group()
    forms.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object per line; the last one is about the source",
    )
    forms.add_argument(
        "--ids",
        action="store_true",
        help="print one id per line: that of the rollout, or of the trace if it has none",
    )
    group.add_argument(
        "--full", action="store_true", help="print whole ids and texts, and every loss"
    )
    group.add_argument(
        "-q", "--quiet", action="store_true", help="print results and errors only, no notes"
    )
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the results to this file, when the command is done",
    )
    group.add_argument(
        "--color",
        metavar="WHEN",
        choices=COLORS,
        default="auto",
        help="use colors: auto (on a terminal), always or never",
    )
    group.add_argument(
        "--strict", action="store_true", help="exit with 1 if something was lost in reading"
    )


def output_options(arguments: argparse.Namespace) -> OutputOptions:
    """Return the output options among the parsed arguments."""
    return OutputOptions(
        json=arguments.json,
        ids=arguments.ids,
        full=arguments.full,
        quiet=arguments.quiet,
        color=arguments.color,
    )
