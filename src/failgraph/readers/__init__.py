"""Bytes back to spans and reports. Knows no SDK.

`spans(source)` streams; `read(source)` gives the traces that hold failures, in two passes over the source, so that
memory grows with the number of traces and with the spans of failing ones, not with the size of the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, NamedTuple

from failgraph.errors import SourceError
from failgraph.losses import Loss, Losses
from failgraph.readers.dialects import spans_of
from failgraph.readers.failures import FailureRecord
from failgraph.readers.found import BadLines, Found
from failgraph.readers.hops import HopRecord
from failgraph.readers.json_documents import json_documents
from failgraph.readers.otlp_protobuf import looks_like_protobuf, protobuf_spans
from failgraph.readers.source import HEAD, UNPACK_ERRORS, Progress, name_of, opened, unpacked
from failgraph.readers.span import EventRecord, SpanRecord
from failgraph.readers.trace import Trace, traces_of

__all__ = ["EventRecord", "FailureRecord", "HopRecord", "Reading", "SpanRecord", "Trace", "read", "spans"]


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
    """Each span of a source, with the attributes that failgraph needs and no others.

    `source` is a file, or `-` for standard input: OTLP JSON (lines, one document or several, over many lines or not),
    OTLP protobuf (plain, or the Collector's length-prefixed messages), or what the APIs of Jaeger (v1, v3) and Tempo
    (v1, v2; JSON, protobuf) answer, each also in gzip. What cannot be read, or was not given, is added to `losses`.
    Raises SourceError where it cannot be opened, is compressed otherwise, or holds no trace at all.
    """
    found = Found()
    losses = [] if losses is None else losses
    with opened(source) as file:
        yield from _spans(file, source, losses, None, found)
    losses.extend(found.lost())


def read(source: str | os.PathLike[str], progress: Progress | None = None) -> Reading:
    """The traces of `source` that hold failures, and the ids of all. Raises SourceError as `spans` does.

    `progress` is told how many bytes of how many have been read.
    """
    losses: list[Loss] = []
    seen: set[str] = set()
    # In the order in which they appear, so that one source always gives one result.
    kept: dict[str, dict[str, SpanRecord]] = {}
    found = Found()
    with opened(source) as file:
        for span in _spans(file, source, losses, _half(progress, 0), found):
            seen.add(span.trace_id)
            if span.tells_of_failures:
                kept.setdefault(span.trace_id, {})
        for span in _spans(file, source, [], _half(progress, 1), Found()) if kept else ():
            if span.trace_id in kept:
                _keep(kept[span.trace_id], span, losses)
    losses.extend(Loss("partial_trace", f"{trace_id} is gone") for trace_id in kept if not kept[trace_id])
    losses.extend(found.lost(besides=kept))
    traces = traces_of({key: value for key, value in kept.items() if value}, found.partial)
    return Reading(traces, frozenset(seen), tuple(losses))


def _keep(spans_by_id: dict[str, SpanRecord], span: SpanRecord, losses: list[Loss]) -> None:
    """Add a span; a copy of one that is there is put together with it."""
    known = spans_by_id.get(span.span_id)
    if known is not None and known != span:
        if known.conflicts(span):
            losses.append(Loss("duplicate", f"span {span.span_id} of {span.trace_id} is there in two versions"))
        span = known.merged(span)
    spans_by_id[span.span_id] = span


def _half(progress: Progress | None, which: int) -> Progress | None:
    return None if progress is None else lambda done, size: progress(which * size + done, 2 * size)


def _spans(
    file: IO[bytes], source: str | os.PathLike[str], losses: list[Loss], progress: Progress | None, found: Found
) -> Iterator[SpanRecord]:
    """One pass over the whole of `file`."""
    bad = BadLines(found, losses)
    try:
        for span in _forms(file, source, found, bad, progress):
            found.spans += 1
            yield span
    except UNPACK_ERRORS:
        found.damaged = True
        bad.add("the gzip data is damaged, or ends early")
    bad.close()
    if not found.spans:
        raise SourceError(f"{name_of(source)} holds no trace; {found.instead()}")


def _forms(
    file: IO[bytes], source: str | os.PathLike[str], found: Found, bad: BadLines, progress: Progress | None
) -> Iterator[SpanRecord]:
    head = unpacked(file, source, None).read(HEAD)
    stream = unpacked(file, source, progress)
    if looks_like_protobuf(head):
        found.protobuf = True
        yield from protobuf_spans(stream, head, bad)
    else:
        for line, document in json_documents(stream, found, bad):
            yield from spans_of(document, line, bad)
