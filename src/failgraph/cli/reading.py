"""The commands that read a source: `list`, `show` and `top`."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps

from failgraph.cli.filters import filter_options, option_text, query_of
from failgraph.cli.messages import print_redacted
from failgraph.cli.no_failures import no_rollout_text
from failgraph.cli.output import LIST, SHOW
from failgraph.cli.output_file import reject_source, results_to
from failgraph.cli.results import Results, print_top, print_traces
from failgraph.cli.source import ReadSource, read_sources
from failgraph.cli.wanted import split_arguments
from failgraph.errors import SourceError
from failgraph.readers import Reading
from failgraph.traces.query import Query
from failgraph.view import top_rows


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


def _reading_command(
    command: Callable[[argparse.Namespace], int],
) -> Callable[[argparse.Namespace], int]:
    """Decorate a command, so that its results go to the file of `-o`."""

    @wraps(command)
    def run(arguments: argparse.Namespace) -> int:
        reject_source(arguments.output, arguments.sources)
        with results_to(arguments.output), _garbage_collector_off():
            return command(arguments)

    return run


@_reading_command
def list_traces(arguments: argparse.Namespace) -> int:
    """Print one line for each trace with failures, and return the exit code."""
    query = query_of(arguments)
    source = read_sources(arguments.sources, query, quiet=arguments.quiet)
    return print_traces(arguments, _matching(arguments, source, query), LIST)


@_reading_command
def show(arguments: argparse.Namespace) -> int:
    """Print the failure tree of one trace or of all with failures, and return the exit code."""
    query = query_of(arguments)
    sources, ids = split_arguments(arguments.sources, arguments.wanted)
    source = read_sources(sources, query, ids, quiet=arguments.quiet)
    results = _matching(arguments, source, query)
    if source.trace_ids is not None:
        filters = [option_text(*option) for option in filter_options(query)]
        if ids and filters and not arguments.quiet:
            print_redacted(f"with IDs, {' '.join(filters)} has no effect")
        failed = {trace.trace_id: trace for trace in source.reading.traces}
        traces = [failed[trace_id] for trace_id in source.trace_ids if trace_id in failed]
        results = results._replace(traces=traces)
    return print_traces(arguments, results, SHOW)


@_reading_command
def top(arguments: argparse.Namespace) -> int:
    """Print the table of failures by boundary, kind and service, and return the exit code."""
    query = query_of(arguments)
    source = read_sources(
        arguments.sources, replace(query, limit=None), whole_window=True, quiet=arguments.quiet
    )
    results = _matching(arguments, source, query)
    rows = top_rows(results.traces, query, _durations(source.reading, query))
    return print_top(arguments, results, rows)


def _matching(arguments: argparse.Namespace, source: ReadSource, query: Query) -> Results:
    """Return the traces of a source that match a query.

    Raises:
        SourceError: The source does not have the rollout.
    """
    reading = source.reading
    if query.rollout_id is not None and query.rollout_id not in reading.rollouts:
        raise SourceError(no_rollout_text(source, query.rollout_id))
    traces = [trace for trace in reading.traces if query.matches(trace)]
    return Results(source, query, traces, arguments.limit)


def _durations(reading: Reading, query: Query) -> Mapping[str, int | None]:
    """Return the durations of all traces in the query's time."""
    return {
        trace_id: duration
        for trace_id, duration in reading.durations.items()
        if query.includes_start(reading.starts.get(trace_id, 0))
    }
