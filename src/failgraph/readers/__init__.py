"""Bytes back to spans and reports. Knows no SDK.

`spans(source)` streams; `read(source)` gives the traces that hold failures, in two passes over the source, so that
memory grows with the number of traces and with the spans of failing ones, not with the size of the file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import IO, NamedTuple

from failgraph.errors import SourceError
from failgraph.losses import Loss, Losses
from failgraph.readers.contents import BadLines, Found
from failgraph.readers.dialects import spans_of
from failgraph.readers.json_documents import json_documents
from failgraph.readers.json_parts import At
from failgraph.readers.otlp_json import PartReader
from failgraph.readers.otlp_protobuf import looks_like_protobuf, protobuf_spans
from failgraph.readers.skimming.skimmer import IN_FULL, Skimmed, Skimmer, Way
from failgraph.readers.skimming.typed_json import Times
from failgraph.readers.source import (
    HEAD,
    UNPACK_ERRORS,
    Progress,
    files_of,
    name_of,
    opened,
    unpacked,
)
from failgraph.semconv import ROLLOUT_ID
from failgraph.traces.failures import FailureRecord
from failgraph.traces.graphs import Trace, traces_of
from failgraph.traces.hops import HopRecord
from failgraph.traces.spans import EventRecord, SpanRecord

__all__ = [
    "EventRecord",
    "FailureRecord",
    "HopRecord",
    "Part",
    "Reading",
    "SpanRecord",
    "Trace",
    "journal_parts",
    "read",
    "read_parts",
    "spans",
]


Part = tuple[str, IO[bytes]]
"""What messages call a part of a source, and a seekable file with its bytes."""


class Reading(NamedTuple):
    """What a source holds."""

    traces: list[Trace]
    """Those with failures, by start."""
    durations: Mapping[str, int | None]
    """Of all traces, with and without failures, from the first start to the last end in ns; None where unknown."""
    rollouts: Mapping[str, frozenset[str]]
    """The ids of the traces of each rollout, by the rollout's id."""
    losses: Losses
    """What of the source could not be read at all."""
    rows: int = 0
    """How many rows saved by Gym it has."""
    starts: Mapping[str, int] = MappingProxyType({})
    """Of all traces, in ns since the epoch; 0 where unknown."""

    @property
    def trace_ids(self) -> frozenset[str]:
        """Of all traces, with and without failures."""
        return frozenset(self.durations)

    @property
    def trace_count(self) -> int:
        """How many traces there are, with and without failures."""
        return len(self.durations)


def spans(source: str | os.PathLike[str], losses: list[Loss] | None = None) -> Iterator[SpanRecord]:
    """Each span of a source, with the attributes that failgraph needs and no others.

    `source` is a file, a directory of `.jsonl` files, or `-` for standard input: OTLP JSON (lines, one document or
    several, over many lines or not), OTLP protobuf (plain, or the Collector's length-prefixed messages), what the APIs
    of Jaeger (v1, v3) and Tempo (v1, v2; JSON, protobuf) answer, rows of rollouts that Gym saved, or a journal, each
    also in gzip. What cannot be read, or was not given, is added to `losses`.
    Raises SourceError where it cannot be opened, is compressed otherwise, or holds no trace at all.
    """
    found = Found()
    losses = [] if losses is None else losses
    with opened(source) as file:
        yield from _spans(file, source, losses, None, found)
    losses.extend(found.lost())


def read(
    source: str | os.PathLike[str],
    progress: Progress | None = None,
    journal: str | os.PathLike[str] | None = None,
) -> Reading:
    """The traces of `source` that hold failures, and the ids of all. Raises SourceError as `spans` does.

    `progress` is told how many bytes of how many have been read. What a `journal` holds, a file or a directory, is
    taken in too: of a failure that both have the trace's copy is kept.
    """
    with opened(source) as file, journal_parts(journal) as more:
        return read_parts([(name_of(source), file), *more], progress)


@contextlib.contextmanager
def journal_parts(journal: str | os.PathLike[str] | None) -> Iterator[list[Part]]:
    """A journal as a part of what is read; nothing where there is none, or none was written yet."""
    if journal is None or (os.path.isdir(journal) and not files_of(journal)):
        yield []
        return
    with opened(journal) as file:
        yield [(name_of(journal), file)] if os.fstat(file.fileno()).st_size else []


def read_parts(parts: Sequence[Part], progress: Progress | None = None) -> Reading:
    """What several parts hold together, as `read` gives it for one. Raises SourceError where none holds a trace."""
    losses: list[Loss] = []
    again: list[Loss] = []
    every = _Every()
    # In the order in which they appear, so that one source always gives one result.
    kept: dict[str, dict[str, SpanRecord]] = {}
    founds = [Found() for _ in parts]
    skimmers = [Skimmer() for _ in parts]
    refused: list[SourceError] = []
    for number, ((name, file), found, skimmer) in enumerate(
        zip(parts, founds, skimmers, strict=True)
    ):
        told, way = _share(progress, number, 2 * len(parts)), skimmer.first(every.pass_over)
        try:
            for span in _spans(file, name, losses, told, found, way):
                every.see(span)
                if span.tells_of_failures:
                    kept.setdefault(span.trace_id, {})
        except SourceError as error:
            refused.append(error)
    if refused and len(refused) == len(parts):
        raise refused[0]
    losses.extend(Loss("bad_line", str(error)) for error in refused)
    for number, ((name, file), skimmer) in enumerate(
        zip(parts, skimmers, strict=True) if kept else ()
    ):
        told, way = _share(progress, len(parts) + number, 2 * len(parts)), skimmer.second(kept)
        with contextlib.suppress(SourceError):  # told of in the first pass
            for span in _spans(file, name, again, told, Found(), way):
                if span.trace_id in kept:
                    _keep(kept[span.trace_id], span, losses)
    if all(found.all_named for found in founds):
        # What can be passed over need not be readable.
        losses.extend(loss for loss in again if loss not in losses)
    losses.extend(
        Loss("partial_trace", f"{trace_id} is gone") for trace_id in kept if not kept[trace_id]
    )
    losses.extend(loss for found in founds for loss in found.lost(besides=kept))
    partial = {trace_id: words for found in founds for trace_id, words in found.partial.items()}
    traces = traces_of({key: value for key, value in kept.items() if value}, partial)
    rows = sum(found.rows for found in founds)
    return Reading(traces, every.durations(), every.rollouts, tuple(losses), rows, every.starts)


class _Every:
    """What is kept of all traces, also of those without failures."""

    def __init__(self) -> None:
        self.starts: dict[str, int] = {}
        """By trace id, in ns since the epoch; 0 where no span says one."""
        self._ends: dict[str, int] = {}
        self.rollouts: dict[str, frozenset[str]] = {}

    def see(self, span: SpanRecord) -> None:
        """One more span."""
        self.pass_over(
            [(span.trace_id, span.start_unix_nano, 0 if span.is_of_journal else span.end_unix_nano)]
        )
        rollout = span.attributes.get(ROLLOUT_ID)
        if isinstance(rollout, str):
            known = self.rollouts.get(rollout, frozenset())
            if span.trace_id not in known:
                self.rollouts[rollout] = known | {span.trace_id}

    def pass_over(self, spans: Iterable[Times]) -> None:
        """Spans of which nothing else was read: no rollout, no failure, not of a journal."""
        starts, ends = self.starts, self._ends
        last: str | bytes | None = None
        key = ""
        for trace_id, start, end in spans:
            if trace_id != last:  # those of a trace often stand together
                last = trace_id
                key = trace_id if isinstance(trace_id, str) else trace_id.hex()
                if key not in starts:
                    starts[key], ends[key] = start, end
                    continue
            first = starts[key]
            if start and (start < first or not first):
                starts[key] = start
            if end > ends[key]:
                ends[key] = end

    def durations(self) -> dict[str, int | None]:
        """By trace id, in ns; None where no span says a start, or none has ended."""
        ends = self._ends
        return {
            key: ends[key] - start if 0 < start <= ends[key] else None
            for key, start in self.starts.items()
        }


def _keep(spans_by_id: dict[str, SpanRecord], span: SpanRecord, losses: list[Loss]) -> None:
    """Add a span; a copy of one that is there is put together with it."""
    known = spans_by_id.get(span.span_id)
    if known is not None and known != span:
        if known.conflicts(span):
            losses.append(
                Loss(
                    "duplicate", f"span {span.span_id} of {span.trace_id} is there in two versions"
                )
            )
        span = known.merged(span)
    spans_by_id[span.span_id] = span


def _share(progress: Progress | None, which: int, of: int) -> Progress | None:
    return None if progress is None else lambda done, size: progress(which * size + done, of * size)


def _spans(
    file: IO[bytes],
    source: str | os.PathLike[str],
    losses: list[Loss],
    progress: Progress | None,
    found: Found,
    way: Way = IN_FULL,
) -> Iterator[SpanRecord]:
    """One pass over the whole of `file`."""
    bad = BadLines(found, losses)
    try:
        for span in _forms(file, source, found, bad, progress, way):
            found.spans += 1
            yield span
    except UNPACK_ERRORS:
        found.damaged = True
        bad.add("the gzip data is damaged, or ends early")
    bad.close()
    if not found.spans:
        raise SourceError(f"{name_of(source)} holds no trace; {found.instead()}")


def _forms(
    file: IO[bytes],
    source: str | os.PathLike[str],
    found: Found,
    bad: BadLines,
    progress: Progress | None,
    way: Way,
) -> Iterator[SpanRecord]:
    head = unpacked(file, source, None).read(HEAD)
    stream = unpacked(file, source, progress)
    if looks_like_protobuf(head):
        found.protobuf = True
        yield from protobuf_spans(stream, head, bad, way)
    else:
        parts = PartReader()
        for line, document in json_documents(stream, found, bad, way):
            if not isinstance(document, Skimmed):
                yield from spans_of(document, line, bad, way.trace_ids)
                continue
            if way.pass_over is not None:
                found.spans += document.spans
                way.pass_over(document.passed_over)
            yield from parts.spans(document.rest, At(line, bad, way.trace_ids))
