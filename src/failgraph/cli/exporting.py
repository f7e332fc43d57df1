"""The command `export`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from failgraph.cli.exit_codes import DONE, NO_SOURCE
from failgraph.cli.messages import print_message
from failgraph.cli.output import reading_progress
from failgraph.redaction.display import display
from failgraph.view.lines import count_of

if TYPE_CHECKING:
    from failgraph.export.result import ExportResult

_MAX_CLASSES = 10  # unknown failure classes named in a message


def export(arguments: argparse.Namespace) -> int:
    """Export the given sources, print what became of their rows, and return the exit code."""
    from failgraph.export import exporting  # loads OpenTelemetry's SDK, which others do not need

    with reading_progress() as progress:
        result = exporting.export_sources(arguments.sources, arguments.output, os.environ, progress)
    print(_summary(result))
    for note in _notes(result):
        print_message(note)
    return NO_SOURCE if result.refused else DONE


def _summary(result: ExportResult) -> str:
    exported = f"{result.exported} exported"
    if result.recovered:
        exported += f" ({result.recovered} recovered)"
    parts = [
        exported,
        f"{result.already_there} already there",
        f"{result.not_a_failure} not a failure",
        f"{result.malformed} malformed",
    ]
    if result.not_sent:
        parts.append(f"{result.not_sent} not sent")
    return f"{count_of(result.rows, 'row', 'rows')}: {', '.join(parts)}"


def _notes(result: ExportResult) -> Iterator[str]:
    yield from result.problems
    if result.unnamed:
        yield f"{count_of(result.unnamed, 'more malformed row', 'more malformed rows')}"
    if result.unknown_classes:
        yield f"unknown failure classes, kept unchanged: {_unknown_classes(result)}"
    if result.exported and not result.into_file:
        yield (
            "an endpoint cannot tell which rows it already has;"
            " rows that are sent again have the same ids and are counted once"
        )
    yield from result.refused


def _unknown_classes(result: ExportResult) -> str:
    """Return the most common unknown classes with their numbers of rows."""
    common = result.unknown_classes.most_common(_MAX_CLASSES)
    text = ", ".join(f"{display(name, 80)} ({count})" for name, count in common)
    more = len(result.unknown_classes) - len(common)
    return f"{text} and {more} more" if more else text
