"""Why a reading command has nothing to show, and what to do about it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from failgraph.cli.filters import filter_options, option_text, time_text
from failgraph.cli.source import ReadSource
from failgraph.readers import Reading, Trace
from failgraph.text import did_you_mean
from failgraph.traces.query import Query
from failgraph.view.lines import count_of


def no_failures_texts(source: ReadSource, query: Query, shown: Sequence[Trace]) -> Iterator[str]:
    """Yield why there is nothing to show, or which of the requested traces have no failures."""
    if source.trace_ids is None:
        if not shown:
            yield _nothing_matches(source, query)
        return
    failed = {trace.trace_id for trace in source.reading.traces}
    for trace_id in source.trace_ids:
        if trace_id not in failed:
            yield f"trace {trace_id}{_rollout_of(source.reading, trace_id)}: no failures"


def _nothing_matches(source: ReadSource, query: Query) -> str:
    reading = source.reading
    if query == Query(rollout_id=query.rollout_id, limit=query.limit) and query.rollout_id:
        return f"rollout {query.rollout_id}: no failures"
    filters = " ".join(_filter_texts(query, _names(reading)))
    if reading.traces:
        return f"no failure matches {filters}; {_others(source, query)}"
    if reading.rows:
        return f"no failures in {count_of(reading.rows, 'saved row', 'saved rows')}"
    if reading.durations:
        return f"no failures in {count_of(reading.trace_count, 'trace', 'traces')}"
    if filters:
        return f"no failure in {source.name} matches {filters}"
    return f"no traces with failures in {source.name}"


def no_rollout_text(source: ReadSource, rollout_id: str) -> str:
    """Return that a source does not have a rollout, and how to find it."""
    suggestion = did_you_mean(rollout_id, source.reading.rollouts)
    problem = f"no rollout {rollout_id} in {source.name}{suggestion}"
    if source.notes:  # they say how to search more
        return "; ".join((problem, *source.notes))
    listing = f"failgraph list {shlex.join(source.names)}"
    return f'{problem}. Run "{listing}" to see rollouts with failures.'


def _names(reading: Reading) -> Mapping[str, frozenset[str]]:
    """Return the names that the failures of a source have, by the option that selects them."""
    failures = [failure for trace in reading.traces for failure in trace.failures.values()]
    return {
        "--kind": frozenset(failure.event.failure_kind for failure in failures),
        "--boundary": frozenset(failure.event.boundary.value for failure in failures),
        "--service": frozenset(
            [trace.service for trace in reading.traces]
            + [failure.span.service for failure in failures]
        ),
    }


def _filter_texts(query: Query, names: Mapping[str, frozenset[str]]) -> Iterable[str]:
    for option, value in filter_options(query):
        known = names.get(option, frozenset())
        yield option_text(option, value) + ("" if value in known else did_you_mean(value, known))


def _others(source: ReadSource, query: Query) -> str:
    """Say which other failures there are, and how to see them."""
    reading = source.reading
    starts = [trace.start_unix_nano for trace in reading.traces]
    count = len(reading.traces)
    if not any(map(query.includes_start, starts)):
        until = query.until_unix_nano
        is_later = until is not None and min(starts) > until
        which, nearest = ("oldest", min(starts)) if is_later else ("newest", max(starts))
        traces = "the only trace" if count == 1 else f"the {which} of {count} traces"
        return f"{traces} with failures started at {time_text(nearest)}"
    verb = "has" if count == 1 else "have"
    total = count_of(reading.trace_count, "trace", "traces")
    command = f"failgraph top {shlex.join(source.names)}"
    return f'{count} of {total} {verb} failures. Run "{command}" to see them.'


def _rollout_of(reading: Reading, trace_id: str) -> str:
    """Return the rollout of a trace in parentheses, or an empty text if it is unknown."""
    for rollout_id, trace_ids in reading.rollouts.items():
        if trace_id in trace_ids:
            return f" (rollout {rollout_id})"
    return ""
