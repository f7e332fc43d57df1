"""The commands that read a source: `list`, `show`, `top`."""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from failgraph.cli.exit_codes import DONE, FINDING
from failgraph.cli.messages import say
from failgraph.cli.output import LIST, SHOW, Output, draw, print_lines
from failgraph.cli.source import Source, count_of, read_source
from failgraph.errors import SourceError
from failgraph.readers import Reading, Trace
from failgraph.traces.query import Query
from failgraph.view import line_text, loss_lines, top_lines, top_row, top_rows


@contextmanager
def _without_passes() -> Iterator[None]:
    """Without those of the garbage collector over ever more that is kept: up to half of the time of a large file."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_without_passes()
def list_traces(arguments: argparse.Namespace) -> int:
    """One line for each trace with failures."""
    query = _query_of(arguments)
    source = read_source(arguments.source, query, journal=arguments.journal)
    return _print(arguments, source, _chosen(source, query), LIST)


@_without_passes()
def show(arguments: argparse.Namespace) -> int:
    """The failure tree of one trace, or of every one that `list` has."""
    query = _query_of(arguments)
    source = read_source(arguments.source, query, arguments.trace_id, journal=arguments.journal)
    if source.trace_id is None:
        return _print(arguments, source, _chosen(source, query), SHOW)
    return _print(
        arguments,
        source,
        [trace for trace in source.reading.traces if trace.trace_id == source.trace_id],
        SHOW,
    )


@_without_passes()
def top(arguments: argparse.Namespace) -> int:
    """Which failures there are most of, and what they cost."""
    query = _query_of(arguments)
    source = read_source(arguments.source, query, journal=arguments.journal, every=True)
    traces = _chosen(source, query)
    rows = top_rows(traces, query, _durations(source.reading, query, traces))
    if arguments.json:
        for row in rows:
            print(json.dumps(top_row(row)))
    else:
        print_lines(top_lines(rows))
    return _close(arguments, source, traces)


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


def _durations(reading: Reading, query: Query, chosen: Sequence[Trace]) -> Mapping[str, int | None]:
    """Of all traces of the time that is asked for; none where others than those `chosen` would count too."""
    if len(chosen) < sum(map(query.matches, reading.traces)):
        return {}
    return {
        key: length
        for key, length in reading.durations.items()
        if query.is_since(reading.starts.get(key, 0))
    }


def _chosen(source: Source, query: Query) -> list[Trace]:
    reading = source.reading
    if query.rollout_id is not None and query.rollout_id not in reading.rollouts:
        raise SourceError(
            "; ".join((f"{source.name} holds no span of rollout {query.rollout_id}", *source.notes))
        )
    traces = query.chosen(reading.traces)
    if query.limit is not None and len(traces) == query.limit:
        matching = sum(map(query.matches, reading.traces))
        if matching > len(traces):
            say(f"the newest {len(traces)} of {count_of(matching)}; a larger --limit shows more")
    return traces


def _print(
    arguments: argparse.Namespace, source: Source, traces: Sequence[Trace], output: Output
) -> int:
    """Print traces, and say what was lost."""
    if arguments.json:
        for trace in traces:
            print(json.dumps(output.row(trace)))
    else:
        draw(traces, output)
    return _close(arguments, source, traces)


def _close(arguments: argparse.Namespace, source: Source, traces: Sequence[Trace]) -> int:
    """Say that there was nothing, what was not looked at, and what was lost; the exit code."""
    reading = source.reading
    if not traces and reading.traces:
        say(
            f"no such failures; {count_of(len(reading.traces))} of {reading.trace_count} have others"
        )
    elif not traces and not reading.durations and not reading.rows:
        say(f"{source.name} has no trace with such failures")
    elif not traces:
        rows = f"{reading.rows} saved {'row' if reading.rows == 1 else 'rows'}"
        say(
            f"no failures in {rows if reading.rows else count_of(1 if source.trace_id else reading.trace_count)}"
        )
    for line in (*source.notes, *map(line_text, loss_lines(reading.losses))):
        say(line)
    lost = bool(reading.losses) or any(trace.losses for trace in traces)
    return FINDING if arguments.strict and lost else DONE
