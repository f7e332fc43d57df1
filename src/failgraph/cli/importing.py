"""The command `import`: what Gym saved, and what journals hold, as traces."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from failgraph.cli.exit_codes import DONE, NO_SOURCE
from failgraph.cli.messages import print_message
from failgraph.cli.output import reading_progress
from failgraph.redaction.display import display

if TYPE_CHECKING:
    from failgraph.export.result import ImportResult

_MAX_CLASSES = 10


def import_files(arguments: argparse.Namespace) -> int:
    """Import the files, and say what became of their rows."""
    from failgraph.export import exporting  # loads OpenTelemetry's SDK

    with reading_progress() as progress:
        result = exporting.import_files(arguments.files, arguments.to, os.environ, progress)
    print(_summary(result))
    for note in _notes(result):
        print_message(note)
    return NO_SOURCE if result.refused else DONE


def _summary(result: ImportResult) -> str:
    """The counts, which add up."""
    imported = f"{result.imported} imported"
    if result.recovered:
        imported += f" ({result.recovered} recovered)"
    parts = [
        imported,
        f"{result.already_there} already there",
        f"{result.not_a_failure} not a failure",
        f"{result.malformed} malformed",
    ]
    if result.not_sent:
        parts.append(f"{result.not_sent} not taken")
    return f"{result.rows} {'row' if result.rows == 1 else 'rows'}: {', '.join(parts)}"


def _notes(result: ImportResult) -> Iterator[str]:
    """What is to be said besides."""
    yield from result.problems
    if result.unnamed:
        yield f"{result.unnamed} more rows are malformed"
    if result.unknown_classes:
        common = result.unknown_classes.most_common(_MAX_CLASSES)
        named = ", ".join(f"{display(name, 80)} ({count})" for name, count in common)
        more = len(result.unknown_classes) - len(common)
        if more:
            named += f" and {more} more"
        yield f"failure classes that are not known, kept as they are: {named}"
    if result.imported and not result.into_file:
        yield "an endpoint cannot be asked what it has; what was sent before has the same ids, and is counted once"
    yield from result.refused
