"""The commands that read a source: `list`, `show`, `top`."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from failgraph.cli.exit_codes import DONE, FINDING
from failgraph.cli.messages import print_message, print_redacted
from failgraph.cli.output import LIST, SHOW, TraceFormat, print_json, print_lines
from failgraph.cli.source import ReadSource, read_source, trace_count
from failgraph.errors import SourceError
from failgraph.readers import Reading, Trace
from failgraph.traces.query import Query
from failgraph.view import line_text, loss_lines, top_lines, top_row, top_rows


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Without those of the garbage collector over ever more that is kept: up to half of the time of a large file."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_without_garbage_collection()
def list_traces(arguments: argparse.Namespace) -> int:
    """One line for each trace with failures."""
    query = _query_of(arguments)
    source = read_source(arguments.source, query, journal=arguments.journal)
    return _print(arguments, source, _matching(source, query), LIST)


@_without_garbage_collection()
def show(arguments: argparse.Namespace) -> int:
    """The failure tree of one trace, or of every one that `list` has."""
    query = _query_of(arguments)
    source = read_source(arguments.source, query, arguments.trace_id, journal=arguments.journal)
    if source.trace_id is None:
        traces = _matching(source, query)
    else:
        traces = [trace for trace in source.reading.traces if trace.trace_id == source.trace_id]
    return _print(arguments, source, traces, SHOW)


@_without_garbage_collection()
def top(arguments: argparse.Namespace) -> int:
    """Which failures there are most of, and what they cost."""
    query = _query_of(arguments)
    source = read_source(arguments.source, query, journal=arguments.journal, every=True)
    traces = _matching(source, query)
    rows = top_rows(traces, query, _durations(source.reading, query, traces))
    if arguments.json:
        print_json(map(top_row, rows))
    else:
        print_lines(top_lines(rows))
    return _finish(arguments, source, traces)


def _print(
    arguments: argparse.Namespace,
    source: ReadSource,
    traces: Sequence[Trace],
    trace_format: TraceFormat,
) -> int:
    """Print traces, and say what was lost; the exit code."""
    if arguments.json:
        print_json(map(trace_format.json_row, traces))
    else:
        trace_format.draw(traces)
    return _finish(arguments, source, traces)


def _query_of(arguments: argparse.Namespace) -> Query:
    """What the options ask for. Of `--kind`, `--boundary` and `--service` one failure has to fit all that are given."""
    return Query(
        since_unix_nano=arguments.since,
        kinds=frozenset(arguments.kind),
        boundaries=frozenset(arguments.boundary),
        services=frozenset(arguments.service),
        rollout_id=arguments.rollout,
        limit=arguments.limit,
    )


def _durations(
    reading: Reading, query: Query, matching: Sequence[Trace]
) -> Mapping[str, int | None]:
    """Of all traces of the time that is asked for; none where others than those `matching` would count too."""
    if len(matching) < sum(map(query.matches, reading.traces)):
        return {}
    return {
        trace_id: duration
        for trace_id, duration in reading.durations.items()
        if query.includes_start(reading.starts.get(trace_id, 0))
    }


def _matching(source: ReadSource, query: Query) -> list[Trace]:
    """The traces that `query` asks for; says how many the limit leaves out."""
    reading = source.reading
    if query.rollout_id is not None and query.rollout_id not in reading.rollouts:
        raise SourceError(
            "; ".join((f"{source.name} holds no span of rollout {query.rollout_id}", *source.notes))
        )
    traces = query.select(reading.traces)
    if query.limit is not None and len(traces) == query.limit:
        matching = sum(map(query.matches, reading.traces))
        if matching > len(traces):
            print_message(
                f"the newest {len(traces)} of {trace_count(matching)}; a larger --limit shows more"
            )
    return traces


def _finish(arguments: argparse.Namespace, source: ReadSource, traces: Sequence[Trace]) -> int:
    """Say that there was nothing, what was not looked at, and what was lost; the exit code."""
    reading = source.reading
    if not traces:
        print_redacted(_nothing_found(source))
    for line in (*source.notes, *map(line_text, loss_lines(reading.losses))):
        print_message(line)
    lost = bool(reading.losses) or any(trace.losses for trace in traces)
    return FINDING if arguments.strict and lost else DONE


def _nothing_found(source: ReadSource) -> str:
    """Say why there is nothing to show."""
    reading = source.reading
    if reading.traces:
        others = trace_count(len(reading.traces))
        return f"no such failures; {others} of {reading.trace_count} have others"
    if reading.rows:
        return f"no failures in {reading.rows} saved {'row' if reading.rows == 1 else 'rows'}"
    if not reading.durations:
        return f"{source.name} has no trace with such failures"
    return f"no failures in {trace_count(1 if source.trace_id else reading.trace_count)}"
