"""The arguments SOURCE... and ID... of a command, which may stand before and behind options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from failgraph.cli.usage import CommandParser

_SEPARATOR = "--"


class SourceParser(CommandParser):
    """A parser that collects sources, and ids, from all places between options.

    Parsed arguments have `sources`, and for a command with ids also `wanted`: what follows `--`, or
    None without it. Then some of `sources` may be ids.
    """

    takes_sources = False
    takes_ids = False

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse arguments as argparse does, which finds only sources that stand together."""
        given = list(sys.argv[1:] if args is None else args)
        if not self.takes_sources:
            return super().parse_known_args(given, namespace)
        ids = None
        if self.takes_ids and _SEPARATOR in given:
            position = given.index(_SEPARATOR)
            given, ids = given[:position], given[position + 1 :]
        parsed, extra = argparse.ArgumentParser.parse_known_args(self, given, namespace)
        is_option = [text.startswith("-") and text != "-" for text in extra]
        if any(is_option):
            self.error(self.unknown_argument(extra))
        parsed.sources = [*parsed.sources, *_ids(parsed), *extra]
        if self.takes_ids:
            parsed.wanted = ids
        return parsed, []


def _ids(parsed: argparse.Namespace) -> list[str]:
    """Return what argparse took for ids: Python 3.13 gives them what is behind an option."""
    ids: list[str] | None = getattr(parsed, "wanted", None)
    return ids or []


_SOURCES = (
    "file, directory of a run, - for standard input, jaeger, tempo, or URL of either; several are"
    " read as one"
)
_FILES = (
    "file of spans (OTLP), saved rollouts or a journal; directory of them; - for standard input"
)


def add_sources(parser: SourceParser, *, with_ids: bool = False, files_only: bool = False) -> None:
    """Add SOURCE..., and ID... if wanted, to the parser of a command."""
    parser.takes_sources, parser.takes_ids = True, with_ids
    parser.add_argument(
        "sources",
        metavar="SOURCE",
        nargs="+",
        help=_FILES if files_only else _SOURCES,
    )
    if with_ids:
        parser.add_argument(
            "wanted",
            metavar="ID",
            nargs="*",
            default=None,  # without it, an error about SOURCE would ask for ID too
            help="trace id or its first 4 digits, or rollout id; -- in front of ids if a file has"
            " that name (default: all traces with failures)",
        )
