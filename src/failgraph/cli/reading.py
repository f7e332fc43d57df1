"""The commands that read a source: `list`, `show`, `top`."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence

from failgraph.cli.codes import DONE, FINDING
from failgraph.cli.filters import query_of
from failgraph.cli.output import LIST, SHOW, Output, draw, print_lines, progress, say
from failgraph.errors import SourceError
from failgraph.readers import Reading, Trace, read
from failgraph.readers.query import Query
from failgraph.view import loss_lines, plain, top_lines, top_row, top_rows

_TRACE_ID = re.compile("[0-9a-fA-F]{1,32}")
_SHORTEST = 6
"""Digits by which a trace may be named, where only one begins with them."""


def list_traces(arguments: argparse.Namespace) -> int:
    """One line for each trace with failures."""
    reading = _read(arguments)
    return _print(arguments, reading, _chosen(arguments, reading, query_of(arguments)), LIST)


def show(arguments: argparse.Namespace) -> int:
    """The failure tree of one trace, or of every one that `list` has."""
    reading = _read(arguments)
    if arguments.trace_id is None:
        return _print(arguments, reading, _chosen(arguments, reading, query_of(arguments)), SHOW)
    wanted = _the_trace(arguments.source, reading, arguments.trace_id)
    return _print(arguments, reading, [trace for trace in reading.traces if trace.trace_id == wanted], SHOW)


def top(arguments: argparse.Namespace) -> int:
    """Which failures there are most of, and what they cost."""
    reading, query = _read(arguments), query_of(arguments)
    traces = _chosen(arguments, reading, query)
    rows = top_rows(traces, query, reading.durations)
    if arguments.json:
        for row in rows:
            print(json.dumps(top_row(row)))
    else:
        print_lines(top_lines(rows))
    return _close(arguments, reading, traces)


def _read(arguments: argparse.Namespace) -> Reading:
    with progress() as told:
        return read(arguments.source, told)


def _chosen(arguments: argparse.Namespace, reading: Reading, query: Query) -> list[Trace]:
    if query.rollout_id is not None and query.rollout_id not in reading.rollouts:
        raise SourceError(f"{arguments.source} holds no span of rollout {query.rollout_id}")
    traces = query.chosen(reading.traces)
    if query.limit is not None and len(traces) == query.limit:
        matching = sum(map(query.matches, reading.traces))
        if matching > len(traces):
            say(f"the newest {len(traces)} of {_traces(matching)}; a larger --limit shows more")
    return traces


def _the_trace(source: str, reading: Reading, wanted: str) -> str:
    """The id of the trace that is meant: all of its digits, or so many that it is the only one."""
    if not _TRACE_ID.fullmatch(wanted):
        what = wanted or "an empty text"
        raise SourceError(f"{what} is no trace id of 32 hex digits; `failgraph list {source}` names some")
    wanted = wanted.lower()
    if wanted.zfill(32) in reading.durations:
        return wanted.zfill(32)
    found = [trace_id for trace_id in reading.durations if trace_id.startswith(wanted)]
    if len(wanted) >= _SHORTEST and len(found) == 1:
        return found[0]
    if len(wanted) >= _SHORTEST and found:
        raise SourceError(f"{len(found)} traces of {source} begin with {wanted}; give more digits of its id")
    raise SourceError(
        f"{source} does not hold trace {wanted.zfill(32)}; `failgraph list {source}` names the"
        f" {len(reading.traces)} of its {_traces(reading.trace_count)} that have failures"
    )


def _print(arguments: argparse.Namespace, reading: Reading, traces: Sequence[Trace], output: Output) -> int:
    """Print traces, and say what was lost."""
    if arguments.json:
        for trace in traces:
            print(json.dumps(output.row(trace)))
    else:
        draw(traces, output)
    return _close(arguments, reading, traces)


def _close(arguments: argparse.Namespace, reading: Reading, traces: Sequence[Trace]) -> int:
    """Say that there was nothing, and what was lost; the exit code."""
    if not traces and reading.traces:
        say(f"no such failures; {_traces(len(reading.traces))} of {reading.trace_count} have others")
    elif not traces:
        say(f"no failures in {_rows(reading.rows) if reading.rows else _traces(reading.trace_count)}")
    for line in loss_lines(reading.losses):
        say(plain(line))
    lost = bool(reading.losses) or any(trace.losses for trace in traces)
    return FINDING if arguments.strict and lost else DONE


def _rows(count: int) -> str:
    return f"{count} saved {'row' if count == 1 else 'rows'}"


def _traces(count: int) -> str:
    return f"{count} {'trace' if count == 1 else 'traces'}"
