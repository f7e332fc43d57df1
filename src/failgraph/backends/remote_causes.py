"""Causes in other traces. A backend holds those traces too, so that they can be asked for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from failgraph import semconv
from failgraph.readers import Reading, Trace

_TRACE_ID = re.compile(r"[0-9a-f]{32}")


def causes_elsewhere(reading: Reading, asked: Collection[str]) -> list[str]:
    """The traces of causes that are not here, as their effects name them, but for those that were asked for."""
    named = (trace_id for trace in reading.traces for trace_id in _named(trace))
    return [trace_id for trace_id in dict.fromkeys(named) if trace_id not in asked]


def _named(trace: Trace) -> Iterator[str]:
    for failure in trace.failures.values():
        if failure.event.cause_id is None or failure.event.cause_id in trace.failures:
            continue
        for event in failure.span.events:
            there = event.attributes.get(semconv.CAUSE_TRACE_ID)
            ours = event.attributes.get(semconv.CAUSE_ID) == failure.event.cause_id
            if ours and isinstance(there, str) and _TRACE_ID.fullmatch(there):
                yield there


def only(reading: Reading, asked: Collection[str]) -> Reading:
    """What it holds of the traces that somebody asked for."""
    of_rollouts = {rollout: ids & frozenset(asked) for rollout, ids in reading.rollouts.items()}
    return reading._replace(
        traces=[trace for trace in reading.traces if trace.trace_id in asked],
        durations={
            trace_id: length for trace_id, length in reading.durations.items() if trace_id in asked
        },
        rollouts={rollout: ids for rollout, ids in of_rollouts.items() if ids},
    )
