"""The commands that read a source: `list`, `show` and `top`."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from failgraph.cli.exit_codes import DONE, FINDING
from failgraph.cli.filters import filters_text
from failgraph.cli.messages import print_message, print_redacted
from failgraph.cli.output import LIST, SHOW, TraceFormat, print_json, print_lines
from failgraph.cli.source import ReadSource, read_source
from failgraph.errors import SourceError
from failgraph.readers import Reading, Trace
from failgraph.traces.query import Query
from failgraph.view import line_text, loss_lines, top_lines, top_row, top_rows
from failgraph.view.lines import count_of


@contextmanager
def _garbage_collector_off() -> Iterator[None]:
    """Turn the garbage collector off: on large files it takes up to half of the time.

    What a command reads is kept until it ends, so there is little to collect.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_garbage_collector_off()
def list_traces(arguments: argparse.Namespace) -> int:
    """Print one line for each trace with failures, and return the exit code."""
    query = _query(arguments)
    source = read_source(arguments.source, query, journal=arguments.journal)
    return _print(arguments, source, _select(source, query), LIST)


@_garbage_collector_off()
def show(arguments: argparse.Namespace) -> int:
    """Print the failure tree of one trace or of all with failures, and return the exit code."""
    query = _query(arguments)
    source = read_source(arguments.source, query, arguments.trace_id, journal=arguments.journal)
    if source.trace_id is None:
        traces = _select(source, query)
    else:
        traces = [trace for trace in source.reading.traces if trace.trace_id == source.trace_id]
    return _print(arguments, source, traces, SHOW)


@_garbage_collector_off()
def top(arguments: argparse.Namespace) -> int:
    """Print the table of failures by boundary, kind and service, and return the exit code."""
    query = _query(arguments)
    source = read_source(arguments.source, query, journal=arguments.journal, all_durations=True)
    traces = _select(source, query)
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
    if arguments.json:
        print_json(map(trace_format.json_row, traces))
    else:
        trace_format.draw(traces)
    return _finish(arguments, source, traces)


def _query(arguments: argparse.Namespace) -> Query:
    return Query(
        since_unix_nano=arguments.since,
        kinds=frozenset(arguments.kind),
        boundaries=frozenset(arguments.boundary),
        services=frozenset(arguments.service),
        rollout_id=arguments.rollout,
        limit=arguments.limit,
    )


def _durations(
    reading: Reading, query: Query, selected: Sequence[Trace]
) -> Mapping[str, int | None]:
    """Return the durations of all traces since the query's start.

    Empty if the limit leaves out traces that match: their share of the time would be unknown.
    """
    if len(selected) < sum(map(query.matches, reading.traces)):
        return {}
    return {
        trace_id: duration
        for trace_id, duration in reading.durations.items()
        if query.includes_start(reading.starts.get(trace_id, 0))
    }


def _select(source: ReadSource, query: Query) -> list[Trace]:
    """Return the traces that match a query. Print how many its limit leaves out."""
    reading = source.reading
    if query.rollout_id is not None and query.rollout_id not in reading.rollouts:
        problem = f"{source.name} has no span of rollout {query.rollout_id}"
        raise SourceError("; ".join((problem, *source.notes)))
    traces = query.select(reading.traces)
    if query.limit is not None and len(traces) == query.limit:
        matching = sum(map(query.matches, reading.traces))
        if matching > len(traces):
            print_message(
                f"showing the newest {len(traces)} of {matching} traces. Use a larger --limit to"
                " see more."
            )
    return traces


def _finish(arguments: argparse.Namespace, source: ReadSource, traces: Sequence[Trace]) -> int:
    """Print why there are no traces, what was not read and what was lost. Return the exit code."""
    if not traces:
        print_redacted(_no_failures(source, _query(arguments)))
    losses = source.reading.losses
    for line in (*source.notes, *map(line_text, loss_lines(losses))):
        print_message(line)
    has_losses = bool(losses) or any(trace.losses for trace in traces)
    return FINDING if arguments.strict and has_losses else DONE


def _no_failures(source: ReadSource, query: Query) -> str:
    """Say why there is nothing to show."""
    reading = source.reading
    if source.trace_id is not None:
        return f"trace {source.trace_id}{_rollout_of(reading, source.trace_id)}: no failures"
    filters = filters_text(query)
    if reading.traces:
        verb = "has" if len(reading.traces) == 1 else "have"
        total = count_of(reading.trace_count, "trace", "traces")
        return f"no failure matches {filters}; {len(reading.traces)} of {total} {verb} failures"
    if reading.rows:
        return f"no failures in {count_of(reading.rows, 'saved row', 'saved rows')}"
    if reading.durations:
        return f"no failures in {count_of(reading.trace_count, 'trace', 'traces')}"
    if filters:
        return f"no failure in {source.name} matches {filters}"
    return f"no traces with failures in {source.name}"


def _rollout_of(reading: Reading, trace_id: str) -> str:
    """Return the rollout of a trace in parentheses, or an empty text if it is unknown."""
    for rollout_id, trace_ids in reading.rollouts.items():
        if trace_id in trace_ids:
            return f" (rollout {rollout_id})"
    return ""
