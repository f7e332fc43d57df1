"""Saved rows whose failures are in a trace or a journal too: each attempt is shown once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from failgraph.traces.graphs import Trace

_T = TypeVar("_T")

RepeatedRows = Mapping[str, frozenset[str]]
"""By the trace id of a row that only repeats failures: the ids of the traces that hold these."""


def repeated_rows(traces: Sequence[Trace]) -> RepeatedRows:
    """Return the rows all of whose failures are in other traces."""
    repeated = {}
    for trace in traces:
        if trace.root is None or not trace.root.is_row or not trace.failures:
            continue
        owners = frozenset(failure.span.trace_id for failure in trace.failures.values())
        if trace.trace_id not in owners:
            repeated[trace.trace_id] = owners
    return repeated


def without_rows(traces: Sequence[Trace], repeated: RepeatedRows) -> list[Trace]:
    """Return the traces without repeated rows. The others take over the ids of their rollouts."""
    rollouts: dict[str, dict[str, None]] = {}
    for trace in traces:
        for owner in repeated.get(trace.trace_id, ()):
            rollouts.setdefault(owner, {}).update(dict.fromkeys(trace.rollout_ids))
    return [
        replace(trace, rollout_ids=_added(trace.rollout_ids, rollouts.get(trace.trace_id, ())))
        for trace in traces
        if trace.trace_id not in repeated
    ]


def _added(rollout_ids: Sequence[str], more: Mapping[str, None] | tuple[()]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*rollout_ids, *more)))


def without_keys(values: Mapping[str, _T], repeated: RepeatedRows) -> dict[str, _T]:
    """Return a mapping by trace id without the repeated rows."""
    return {key: value for key, value in values.items() if key not in repeated}


def moved_rollouts(
    rollouts: Mapping[str, frozenset[str]], repeated: RepeatedRows
) -> dict[str, frozenset[str]]:
    """Return the trace ids of each rollout, with those of other traces in place of their rows'."""
    return {
        rollout: frozenset(
            owner
            for trace_id in trace_ids
            for owner in repeated.get(trace_id, frozenset({trace_id}))
        )
        for rollout, trace_ids in rollouts.items()
    }
