"""Read sources in two passes: first find the traces with failures, then collect their spans."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from failgraph.errors import SourceError
from failgraph.losses import Loss, Losses
from failgraph.readers.file_pass import read_pass
from failgraph.readers.skimming.skimmer import Skimmer
from failgraph.readers.source import Progress, SourceFile, open_journal, open_source, source_name
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
    """

    traces: list[Trace]
    durations: Mapping[str, int | None]
    rollouts: Mapping[str, frozenset[str]]
    losses: Losses
    rows: int = 0
    starts: Mapping[str, int] = MappingProxyType({})

    @property
    def trace_ids(self) -> frozenset[str]:
        """Ids of all traces, with or without failures."""
        return frozenset(self.durations)

    @property
    def trace_count(self) -> int:
        """Number of traces, with or without failures."""
        return len(self.durations)


def read(
    source: str | os.PathLike[str],
    progress: Progress | None = None,
    journal: str | os.PathLike[str] | None = None,
) -> Reading:
    """Read the traces of a source that hold failures.

    Args:
        source: As for `spans`.
        progress: Called with the number of bytes read and their total; both passes count.
        journal: A journal file or directory to merge with the source, or None. The trace's copy of
            a failure is preferred to the journal's. It is skipped if it has no files yet.

    Raises:
        SourceError: If a file cannot be opened, or neither the source nor the journal contains a
            readable trace.
    """
    with open_source(source) as file, open_journal(journal) as journal_files:
        return read_files([SourceFile(source_name(source), file), *journal_files], progress)


def read_files(files: Sequence[SourceFile], progress: Progress | None = None) -> Reading:
    """Read several open files as one source.

    Args:
        files: Seekable files. Each is read twice, from its beginning.
        progress: As for `read`.

    Raises:
        SourceError: If none of the files contains a trace. If only some do not, that is a loss.
    """
    sources = [_Source(file) for file in files]
    overview = TraceOverview()
    first = _find_failing_traces(sources, overview, progress)
    if first.errors and len(first.errors) == len(files):
        raise first.errors[0]
    second = _collect_spans(sources, first.trace_ids, progress)
    partial = {
        trace_id: reason
        for source in sources
        for trace_id, reason in source.summary.partial_traces.items()
    }
    traces = traces_of({key: spans for key, spans in second.spans.items() if spans}, partial)
    return Reading(
        traces,
        overview.durations(),
        overview.rollouts,
        _losses(sources, first, second),
        sum(source.summary.rows for source in sources),
        overview.starts,
    )


@dataclass(slots=True)
class _Source:
    """A file with what its two passes share."""

    file: SourceFile
    summary: SourceSummary = field(default_factory=SourceSummary)
    skimmer: Skimmer = field(default_factory=Skimmer)


class _FirstPass(NamedTuple):
    """Result of the first pass over all files."""

    trace_ids: dict[str, None]  # traces with failures, in the order of the source
    errors: list[SourceError]  # one for each file without a trace


class _SecondPass(NamedTuple):
    """Result of the second pass over all files."""

    spans: dict[str, dict[str, SpanRecord]]  # by trace id and span id, in the order of the source
    duplicates: list[Loss]
    losses: list[Loss]  # most were already found by the first pass


def _find_failing_traces(
    sources: Sequence[_Source], overview: TraceOverview, progress: Progress | None
) -> _FirstPass:
    """Find the traces with failures. Adds every trace to `overview`."""
    trace_ids: dict[str, None] = {}
    errors: list[SourceError] = []
    for number, source in enumerate(sources):
        plan = source.skimmer.first_pass(overview.add_times)
        part = _part_of(progress, number, 2 * len(sources))
        try:
            for span in read_pass(source.file, source.summary, plan, part):
                overview.add_span(span)
                if span.has_failures:
                    trace_ids[span.trace_id] = None
        except SourceError as error:
            errors.append(error)
    return _FirstPass(trace_ids, errors)


def _collect_spans(
    sources: Sequence[_Source], trace_ids: dict[str, None], progress: Progress | None
) -> _SecondPass:
    """Collect the spans of these traces."""
    spans: dict[str, dict[str, SpanRecord]] = {trace_id: {} for trace_id in trace_ids}
    duplicates: list[Loss] = []
    losses: list[Loss] = []
    for number, source in enumerate(sources if trace_ids else ()):
        plan = source.skimmer.second_pass(spans)
        part = _part_of(progress, len(sources) + number, 2 * len(sources))
        summary = SourceSummary()
        # The first pass has already reported a file without a trace.
        with contextlib.suppress(SourceError):
            for span in read_pass(source.file, summary, plan, part):
                if span.trace_id in spans:
                    duplicates.extend(_add_span(spans[span.trace_id], span))
        losses.extend(summary.losses)
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


def _losses(sources: Sequence[_Source], first: _FirstPass, second: _SecondPass) -> Losses:
    """Return the losses of all files that do not belong to one trace of the result."""
    losses = [loss for source in sources for loss in source.summary.losses]
    losses += (Loss("bad_line", str(error)) for error in first.errors)
    losses += second.duplicates
    if all(source.summary.names_every_bad_line for source in sources):
        # The second pass meets the same bad lines, and those in spans that the first one skipped.
        for loss in second.losses:
            if loss not in losses:
                losses.append(loss)
    losses += (
        Loss("partial_trace", f"trace {trace_id} disappeared while it was read")
        for trace_id, spans in second.spans.items()
        if not spans
    )
    for source in sources:
        losses += source.summary.partial_trace_losses(except_of=first.trace_ids)
    return tuple(losses)


def _part_of(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Return a callback for pass `number` of `count` passes of equal length, or None."""
    if progress is None:
        return None
    return lambda done, size: progress(number * size + done, count * size)
