"""Stream the spans of one source."""

from __future__ import annotations

import os
from collections.abc import Iterator

from failgraph.losses import Losses
from failgraph.readers.file_pass import read_pass
from failgraph.readers.source import SourceFile, open_source, source_name
from failgraph.readers.summary import SourceSummary
from failgraph.traces.spans import SpanRecord


class SpanReader:
    """Iterate over the spans of a source. The source is opened when the first span is asked for.

    Attributes:
        losses: What could not be read or was not returned by a backend. Complete once the
            iteration has ended.
    """

    def __init__(self, source: str | os.PathLike[str]) -> None:
        self._summary = SourceSummary()
        self._spans = _spans(source, self._summary)

    def __iter__(self) -> Iterator[SpanRecord]:
        # The generator itself, so that a loop makes no Python call per span.
        return self._spans

    def __next__(self) -> SpanRecord:
        return next(self._spans)

    @property
    def losses(self) -> Losses:
        """What could not be read or was not returned by a backend."""
        return (*self._summary.losses, *self._summary.partial_trace_losses())


def spans(source: str | os.PathLike[str]) -> SpanReader:
    """Iterate over the spans of a source, with only the attributes that failgraph needs.

    Args:
        source: A file, a directory of `.jsonl` files, or `-` for standard input; plain or gzip.
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


def _spans(source: str | os.PathLike[str], summary: SourceSummary) -> Iterator[SpanRecord]:
    with open_source(source) as file:
        yield from read_pass(SourceFile(source_name(source), file), summary)
