"""Causes in other traces, which the backend can be asked for too."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from failgraph import semconv
from failgraph.readers import Reading, Trace

_TRACE_ID = re.compile(r"[0-9a-f]{32}")


def missing_cause_traces(reading: Reading, fetched: Collection[str]) -> list[str]:
    """Return the ids of the traces that hold missing causes, except those fetched before."""
    trace_ids = (trace_id for trace in reading.traces for trace_id in _cause_traces(trace))
    return [trace_id for trace_id in dict.fromkeys(trace_ids) if trace_id not in fetched]


def _cause_traces(trace: Trace) -> Iterator[str]:
    """Yield the trace ids that the events of effects name for causes that the trace lacks."""
    for failure in trace.failures.values():
        cause_id = failure.event.cause_id
        if cause_id is None or cause_id in trace.failures:
            continue
        for event in failure.span.events:
            cause_trace = event.attributes.get(semconv.CAUSE_TRACE_ID)
            is_effect = event.attributes.get(semconv.CAUSE_ID) == cause_id
            if is_effect and isinstance(cause_trace, str) and _TRACE_ID.fullmatch(cause_trace):
                yield cause_trace


def only_traces(reading: Reading, trace_ids: Collection[str]) -> Reading:
    """Return a reading of some of the traces."""
    chosen = frozenset(trace_ids)
    rollouts = {rollout: ids & chosen for rollout, ids in reading.rollouts.items()}
    return reading._replace(
        traces=[trace for trace in reading.traces if trace.trace_id in chosen],
        durations={
            trace_id: nano for trace_id, nano in reading.durations.items() if trace_id in chosen
        },
        rollouts={rollout: ids for rollout, ids in rollouts.items() if ids},
    )
