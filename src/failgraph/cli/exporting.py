"""The command `export`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from failgraph.backends import address_of
from failgraph.backends.urls import display_url
from failgraph.cli.exit_codes import DONE, NO_SOURCE
from failgraph.cli.messages import print_message
from failgraph.cli.output import reading_progress
from failgraph.errors import ConfigError
from failgraph.redaction.display import display
from failgraph.settings import current
from failgraph.view.lines import count_of

if TYPE_CHECKING:
    from failgraph.export.result import ExportResult

_MAX_FIELDS = 10  # fields of spans named in a message
_MAX_UNUSED = 5  # files of directories named in a message
_MAX_CLASSES = 10  # unknown failure classes named in a message


def export(arguments: argparse.Namespace) -> int:
    """Export the sources, print what became of their spans and rows, return the exit code."""
    _reject_backends(arguments.sources)
    from failgraph.export import exporting  # loads OpenTelemetry's SDK, which others do not need

    with reading_progress() as progress:
        result = exporting.export_sources(arguments.sources, arguments.output, os.environ, progress)
    print(*_summaries(result), sep="\n")
    for note in _notes(result):
        print_message(note)
    return NO_SOURCE if result.refused else DONE


def _reject_backends(sources: Sequence[str]) -> None:
    """Raise ConfigError if a source is a backend."""
    for source in sources:
        address = address_of(source, current(), os.path.exists)
        if address is not None:
            api = "v2" if address.kind == "tempo" else "v3"
            url = f"{display_url(address.base)}/api/{api}/traces/{address.trace_id or 'ID'}"
            raise ConfigError(
                [f"export reads files, not a backend. Save a trace first: curl {url} > trace.json"]
            )


def _summaries(result: ExportResult) -> Iterator[str]:
    if result.spans:
        yield _summary(result.spans, ("span", "spans"), _span_counts(result))
    if result.rows or not result.spans:
        yield _summary(result.rows, ("row", "rows"), _row_counts(result))


def _summary(total: int, nouns: tuple[str, str], counts: Iterator[str]) -> str:
    return f"{count_of(total, *nouns)}: {', '.join(counts)}"


def _span_counts(result: ExportResult) -> Iterator[str]:
    yield f"{result.spans_exported} exported"
    yield f"{result.spans_already_there} already there"
    if result.spans_malformed:
        yield f"{result.spans_malformed} malformed"
    if result.spans_not_sent:
        yield f"{result.spans_not_sent} not sent"


def _row_counts(result: ExportResult) -> Iterator[str]:
    recovered = f" ({result.recovered} recovered)" if result.recovered else ""
    yield f"{result.exported} exported{recovered}"
    yield f"{result.already_there} already there"
    yield f"{result.not_a_failure} not a failure"
    yield f"{result.malformed} malformed"
    if result.not_sent:
        yield f"{result.not_sent} not sent"


def _notes(result: ExportResult) -> Iterator[str]:
    yield from result.problems
    if result.unnamed:
        yield f"{count_of(result.unnamed, 'more malformed row', 'more malformed rows')}"
    if result.unused:
        more = len(result.unused) - _MAX_UNUSED
        yield from (f"not used: {problem}" for problem in result.unused[:_MAX_UNUSED])
        if more > 0:
            yield f"not used: {count_of(more, 'more file', 'more files')}"
    if result.unknown_classes:
        yield f"unknown failure classes, kept unchanged: {_unknown_classes(result)}"
    if result.lost_fields:
        names = ", ".join(display(name, 80) for name in sorted(result.lost_fields)[:_MAX_FIELDS])
        yield (
            f"OpenTelemetry's exporters do not send these fields of spans: {names}."
            " Export to a file to keep them."
        )
    if (result.exported or result.spans_exported) and not result.into_file:
        yield (
            f"an endpoint cannot tell which {result.nouns[1]} it already has; what is sent again"
            " has the same ids and is counted once"
        )
    yield from result.refused


def _unknown_classes(result: ExportResult) -> str:
    """Return the most common unknown classes with their numbers of rows."""
    common = result.unknown_classes.most_common(_MAX_CLASSES)
    text = ", ".join(f"{display(name, 80)} ({count})" for name, count in common)
    more = len(result.unknown_classes) - len(common)
    return f"{text} and {more} more" if more else text
