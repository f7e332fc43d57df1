"""Bytes back to spans and reports. Knows no SDK.

`spans(source)` streams; `read(source)` gives the traces that hold failures, in two passes over the source, so that
memory grows with the number of traces and with the spans of failing ones, not with the size of the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from failgraph.errors import SourceError
from failgraph.losses import Loss, Losses
from failgraph.readers.files import Found, documents
from failgraph.readers.otlp_json import spans_of
from failgraph.readers.span import EventRecord, SpanRecord
from failgraph.readers.trace import FailureRecord, HopRecord, Trace, traces_of

__all__ = ["EventRecord", "FailureRecord", "HopRecord", "Reading", "SpanRecord", "Trace", "read", "spans"]

Source = "str | os.PathLike[str]"


class Reading(NamedTuple):
    """What a source holds."""

    traces: list[Trace]
    """Those with failures, by start."""
    trace_ids: frozenset[str]
    """Of all traces, with and without failures."""
    losses: Losses
    """What of the source could not be read at all."""

    @property
    def trace_count(self) -> int:
        """How many traces there are, with and without failures."""
        return len(self.trace_ids)


def spans(source: str | os.PathLike[str], losses: list[Loss] | None = None) -> Iterator[SpanRecord]:
    """Each span of an OTLP JSON file (lines, or one document), with the attributes that failgraph needs and no others.

    What cannot be read is added to `losses`, by line. Raises SourceError where the file cannot be opened, or holds no
    trace at all.
    """
    losses = [] if losses is None else losses
    found = Found()
    for line, document in documents(source, found, losses):
        for span in spans_of(document, line, losses):
            found.spans += 1
            yield span
    if not found.spans:
        raise SourceError(f"{os.fspath(source)} holds no trace; {found.instead()}")


def read(source: str | os.PathLike[str]) -> Reading:
    """The traces of `source` that hold failures, and how many there are in all. Raises SourceError as `spans` does."""
    losses: list[Loss] = []
    seen: set[str] = set()
    failing: set[str] = set()
    for span in spans(source, losses):
        seen.add(span.trace_id)
        if span.tells_of_failures:
            failing.add(span.trace_id)
    kept: dict[str, dict[str, SpanRecord]] = {trace_id: {} for trace_id in failing}
    for span in spans(source) if failing else ():
        if span.trace_id in kept:
            spans_by_id = kept[span.trace_id]
            known = spans_by_id.get(span.span_id)
            spans_by_id[span.span_id] = span if known is None else known.or_fuller(span)
    return Reading(traces_of(kept), frozenset(seen), tuple(losses))
