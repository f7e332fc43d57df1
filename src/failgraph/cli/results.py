"""What a reading command prints once its source is read: results, then what is missing in them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from failgraph.cli.exit_codes import DONE, FINDING
from failgraph.cli.messages import print_message, print_redacted
from failgraph.cli.no_failures import no_failures_texts
from failgraph.cli.output import TraceFormat, print_json, print_lines
from failgraph.cli.output_options import OutputOptions, output_options
from failgraph.cli.source import ReadSource
from failgraph.readers import Trace
from failgraph.text import MAX_ID_LENGTH, sanitize
from failgraph.traces.query import Query
from failgraph.view import line_text, loss_lines, source_row, top_lines, top_row
from failgraph.view.lines import count_of
from failgraph.view.top import TopRow

_MAX_LOSSES = 10  # named on standard error without --full


class Results(NamedTuple):
    """What a command found.

    Attributes:
        source: The source.
        query: What was asked for.
        traces: The traces of the source that match the query, by start; with ids, the traces that
            they name, in the order of the ids.
        limit: The largest number of traces, or of rows of `top`, or None.
    """

    source: ReadSource
    query: Query
    traces: Sequence[Trace]
    limit: int | None


def print_traces(arguments: argparse.Namespace, results: Results, form: TraceFormat) -> int:
    """Print the newest traces, or their ids, and return the exit code."""
    options = output_options(arguments)
    shown = _newest(results)
    if options.ids:
        _print_ids(shown)
    elif options.json:
        print_json(map(form.json_row, shown))
    else:
        form.draw(shown, options)
    if len(shown) < len(results.traces):
        _note_limit(options, f"the newest {len(shown)} of {len(results.traces)} traces")
    return _finish(arguments, results, shown)


def print_top(arguments: argparse.Namespace, results: Results, rows: Sequence[TopRow]) -> int:
    """Print the first rows of `top`, or the ids of the traces they count. Return the exit code."""
    options = output_options(arguments)
    shown = rows[: results.limit]
    if options.ids:
        _print_ids(_counted(results, shown))
    elif options.json:
        print_json(map(top_row, shown))
    else:
        print_lines(top_lines(shown, full=options.full, with_head=not options.quiet), options)
    if len(shown) < len(rows):
        _note_limit(options, f"the first {len(shown)} of {len(rows)} rows")
    return _finish(arguments, results, results.traces)


def _print_ids(traces: Sequence[Trace]) -> None:
    """Print each rollout's id once, or that of a trace without one."""
    for each in dict.fromkeys(map(_id, traces)):
        print(each)


def _counted(results: Results, rows: Sequence[TopRow]) -> list[Trace]:
    """Return the traces that have a failure of one of the rows."""
    keys = {(row.boundary, row.kind, row.service) for row in rows}
    return [
        trace
        for trace in results.traces
        if any(
            (each.event.boundary.value, each.event.failure_kind, each.span.service) in keys
            and results.query.matches_failure(trace, each)
            for each in trace.failures.values()
        )
    ]


def _id(trace: Trace) -> str:
    return sanitize(trace.rollout_ids[0] if trace.rollout_ids else trace.trace_id, MAX_ID_LENGTH)


def _newest(results: Results) -> Sequence[Trace]:
    """Return the traces that `list` has last, at most the limit, in their own order."""
    traces, limit = results.traces, results.limit
    if limit is None or len(traces) <= limit:
        return traces
    wanted = {trace.trace_id for trace in traces}
    by_start = [each.trace_id for each in results.source.reading.traces if each.trace_id in wanted]
    newest = set(by_start[-limit:])
    return [trace for trace in traces if trace.trace_id in newest]


def _note_limit(options: OutputOptions, shown: str) -> None:
    if not options.quiet:
        print_message(f"showing {shown}. Use a larger --limit to see more.")


def _finish(arguments: argparse.Namespace, results: Results, shown: Sequence[Trace]) -> int:
    """Print why there are no traces, what was not read and what was lost. Return the exit code."""
    source, options = results.source, output_options(arguments)
    losses = source.reading.losses
    if options.json:
        print_json([_source_row(source)])
    if not options.quiet:
        for text in no_failures_texts(source, results.query, shown):
            print_redacted(text)
        undated = sum(not trace.start_unix_nano for trace in shown)
        if undated and results.query.has_time_limits:
            traces = count_of(undated, "trace has", "traces have")
            print_message(f"{traces} no time, so --since and --until do not apply to them")
        limit = None if options.full else _MAX_LOSSES
        for line in (*source.notes, *map(line_text, loss_lines(losses, limit))):
            print_message(line)
    has_losses = bool(losses) or any(trace.losses for trace in shown)
    return FINDING if arguments.strict and has_losses else DONE


def _source_row(source: ReadSource) -> Mapping[str, object]:
    reading = source.reading
    name = ", ".join(source.names)
    return source_row(name, max(reading.trace_count, len(reading.traces)), reading.losses)
