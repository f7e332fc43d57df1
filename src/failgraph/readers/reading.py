"""Read sources in two passes: first find the traces with failures, then collect their spans."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from failgraph.errors import SourceError
from failgraph.losses import Loss, Losses
from failgraph.readers.file_pass import read_pass
from failgraph.readers.journal_ids import JournalIds
from failgraph.readers.part_losses import (
    Part,
    file_losses,
    named,
    names_parts,
    no_trace_error,
    unused_files,
)
from failgraph.readers.repeated_rows import (
    moved_rollouts,
    repeated_rows,
    without_keys,
    without_rows,
)
from failgraph.readers.skimming.skimmer import Skimmer
from failgraph.readers.source import Progress, SourceFile, no_files_error, open_files
from failgraph.readers.summary import SourceSummary
from failgraph.readers.trace_overview import TraceOverview
from failgraph.traces.graphs import Trace, traces_of
from failgraph.traces.spans import SpanRecord


class Reading(NamedTuple):
    """What one or more sources contain.

    Attributes:
        traces: The traces with failures, by start.
        durations: Duration of every trace by trace id, with or without failures: from its first
            start to its last end, in ns, or None if unknown.
        rollouts: Trace ids of each rollout, by rollout id.
        losses: What could not be read, or was not returned by a backend. Losses of one trace are
            in `Trace.losses`.
        rows: Number of rows saved by Gym.
        starts: Start of every trace by trace id, in ns since the epoch, or 0 if unknown.
        unused: The files of a directory that contain no trace, each with what it contains instead.
            A damaged file is among the losses.
    """

    traces: list[Trace]
    durations: Mapping[str, int | None]
    rollouts: Mapping[str, frozenset[str]]
    losses: Losses
    rows: int = 0
    starts: Mapping[str, int] = MappingProxyType({})
    unused: tuple[str, ...] = ()

    @property
    def trace_ids(self) -> frozenset[str]:
        """Ids of all traces, with or without failures."""
        return frozenset(self.durations)

    @property
    def trace_count(self) -> int:
        """Number of traces, with or without failures."""
        return len(self.durations)


def read(source: str | os.PathLike[str], progress: Progress | None = None) -> Reading:
    """Read the traces of a source that hold failures.

    Args:
        source: As for `spans`. The trace's copy of a failure is preferred to a journal's.
        progress: Called with the number of bytes read and their total; both passes count.

    Raises:
        SourceError: If the source cannot be opened, or contains no readable trace.
    """
    with open_files(source) as opened:
        if not opened.files and not opened.unopened:
            raise no_files_error(source)
        return read_files(opened.files, progress, opened.unopened)


def read_files(
    files: Sequence[SourceFile], progress: Progress | None = None, unopened: Sequence[str] = ()
) -> Reading:
    """Read several open files as one source.

    Args:
        files: Seekable files. Each is read twice, from its beginning.
        progress: As for `read`.
        unopened: A sentence for each file of the source that cannot be opened; each is a loss.

    Raises:
        SourceError: If none of the files contains a trace. If only some do not, that is a loss, or
            they are `Reading.unused`.
    """
    parts = [_Part(file) for file in files]
    overview = TraceOverview()
    trace_ids = _find_failing_traces(parts, overview, progress)
    errors = [part.error for part in parts if part.error is not None]
    if len(errors) == len(parts):
        raise no_trace_error(errors, unopened)
    second = _collect_spans(parts, trace_ids, progress)
    partial = {
        trace_id: reason
        for part in parts
        for trace_id, reason in part.summary.partial_traces.items()
    }
    traces = traces_of({key: spans for key, spans in second.spans.items() if spans}, partial)
    reading = Reading(
        traces,
        overview.durations(),
        overview.rollouts,
        (*(Loss("bad_line", text) for text in unopened), *_losses(parts, trace_ids, second)),
        sum(part.summary.rows for part in parts),
        overview.starts,
        unused_files(parts),
    )
    repeated = repeated_rows(traces)
    if not repeated:
        return reading
    return reading._replace(
        traces=without_rows(traces, repeated),
        durations=without_keys(reading.durations, repeated),
        rollouts=moved_rollouts(reading.rollouts, repeated),
        starts=without_keys(reading.starts, repeated),
    )


@dataclass(slots=True)
class _Part(Part):
    """A file with what its two passes share."""

    skimmer: Skimmer = field(default_factory=Skimmer)


class _SecondPass(NamedTuple):
    """Result of the second pass over all files."""

    spans: dict[str, dict[str, SpanRecord]]  # by trace id and span id, in the order of the source
    duplicates: list[Loss]
    losses: list[Loss]  # most were already found by the first pass


def _find_failing_traces(
    parts: Sequence[_Part], overview: TraceOverview, progress: Progress | None
) -> dict[str, None]:
    """Return the ids of the traces with failures, in the order of the source.

    Adds every trace to `overview`, and to each part why it contains no trace.
    """
    trace_ids: dict[str, None] = {}
    journal_ids = JournalIds()
    for number, part in enumerate(parts):
        plan = part.skimmer.first_pass(overview.add_times)
        callback = _callback(progress, number, 2 * len(parts))
        try:
            for span in read_pass(part.file, part.summary, plan, callback, journal_ids):
                overview.add_span(span)
                if span.has_failures:
                    trace_ids[span.trace_id] = None
        except SourceError as error:
            part.error = error
    return trace_ids


def _collect_spans(
    parts: Sequence[_Part], trace_ids: dict[str, None], progress: Progress | None
) -> _SecondPass:
    """Collect the spans of these traces."""
    spans: dict[str, dict[str, SpanRecord]] = {trace_id: {} for trace_id in trace_ids}
    duplicates: list[Loss] = []
    losses: list[Loss] = []
    journal_ids = JournalIds()
    with_name = names_parts(parts)
    for number, part in enumerate(parts if trace_ids else ()):
        if part.error is not None:
            continue  # the first pass has reported that it contains no trace
        plan = part.skimmer.second_pass(spans)
        callback = _callback(progress, len(parts) + number, 2 * len(parts))
        summary = SourceSummary()
        with contextlib.suppress(SourceError):  # the file was emptied meanwhile
            for span in read_pass(part.file, summary, plan, callback, journal_ids):
                if span.trace_id in spans:
                    duplicates.extend(_add_span(spans[span.trace_id], span))
        losses.extend(named(summary.losses, part.file.name if with_name else None))
    return _SecondPass(spans, duplicates, losses)


def _add_span(spans: dict[str, SpanRecord], span: SpanRecord) -> list[Loss]:
    """Add a span to its trace, or merge it with its earlier copy. Return the conflict, if any."""
    known = spans.get(span.span_id)
    if known is None or known == span:
        spans[span.span_id] = span
        return []
    spans[span.span_id] = known.merged(span)
    if not known.conflicts(span):
        return []
    detail = f"span {span.span_id} of trace {span.trace_id} has two different versions"
    return [Loss("duplicate", detail)]


def _losses(
    parts: Sequence[_Part], trace_ids: Mapping[str, None], second: _SecondPass
) -> Iterator[Loss]:
    """Yield the losses of all files that do not belong to one trace of the result."""
    with_name = names_parts(parts)
    first = [loss for part in parts for loss in file_losses(part, with_name=with_name)]
    yield from first
    yield from second.duplicates
    if all(part.summary.names_every_bad_line for part in parts):
        # The second pass meets the same bad lines, and those in spans that the first one skipped.
        known = {*first, *second.duplicates}
        yield from (loss for loss in dict.fromkeys(second.losses) if loss not in known)
    yield from (
        Loss("partial_trace", f"trace {trace_id} disappeared while it was read")
        for trace_id, spans in second.spans.items()
        if not spans
    )
    for part in parts:
        yield from part.summary.partial_trace_losses(except_of=trace_ids)


def _callback(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Return a callback for pass `number` of `count` passes of equal length, or None."""
    if progress is None:
        return None
    return lambda done, size: progress(number * size + done, count * size)
