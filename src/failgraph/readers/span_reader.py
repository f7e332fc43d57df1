"""Stream the spans of one source."""

from __future__ import annotations

import os
from collections.abc import Iterator

from failgraph.errors import SourceError
from failgraph.losses import Loss, Losses
from failgraph.readers.file_pass import read_pass
from failgraph.readers.journal_ids import JournalIds
from failgraph.readers.part_losses import Part, file_losses, names_parts, no_trace_error
from failgraph.readers.source import no_files_error, open_files
from failgraph.traces.spans import SpanRecord


class SpanReader:
    """Iterate over the spans of a source. The source is opened when the first span is asked for.

    Attributes:
        losses: What could not be read or was not returned by a backend. Complete once the
            iteration has ended.
    """

    def __init__(self, source: str | os.PathLike[str]) -> None:
        self._parts: list[Part] = []
        self._unopened: list[str] = []
        self._spans = self._read(source)

    def __iter__(self) -> Iterator[SpanRecord]:
        # The generator itself, so that a loop makes no Python call per span.
        return self._spans

    def __next__(self) -> SpanRecord:
        return next(self._spans)

    @property
    def losses(self) -> Losses:
        """What could not be read or was not returned by a backend."""
        with_name = names_parts(self._parts)
        losses = [Loss("bad_line", text) for text in self._unopened]
        for part in self._parts:
            losses.extend(file_losses(part, with_name=with_name))
            losses.extend(part.summary.partial_trace_losses())
        return tuple(losses)

    def _read(self, source: str | os.PathLike[str]) -> Iterator[SpanRecord]:
        with open_files(source) as opened:
            if not opened.files and not opened.unopened:
                raise no_files_error(source)
            self._unopened.extend(opened.unopened)
            journal_ids = JournalIds()
            for file in opened.files:
                part = Part(file)
                self._parts.append(part)
                try:
                    yield from read_pass(file, part.summary, journal_ids=journal_ids)
                except SourceError as error:
                    part.error = error
            errors = [part.error for part in self._parts if part.error is not None]
            if len(errors) == len(opened.files):
                for part in self._parts:
                    part.error = None  # not a loss as well
                raise no_trace_error(errors, opened.unopened)


def spans(source: str | os.PathLike[str]) -> SpanReader:
    """Iterate over the spans of a source, with only the attributes that failgraph needs.

    Args:
        source: A file, the directory of a run, or `-` for standard input; plain or gzip.
            Formats: OTLP JSON (lines, or one or more documents), OTLP protobuf (plain, or the
            Collector's length-prefixed messages), API responses of Jaeger (v1, v3) and Tempo
            (v1, v2; JSON or protobuf), rows of rollouts saved by Gym, and journals.

    Returns:
        An iterator whose `losses` name what could not be read, complete after the last span.

    Raises:
        SourceError: While iterating, if the source cannot be opened, has an unsupported
            compression, or contains no trace.
    """
    return SpanReader(source)
