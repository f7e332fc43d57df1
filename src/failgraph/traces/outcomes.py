"""Decide how the root hop of a trace ended."""

from __future__ import annotations

from typing import Literal

from failgraph import semconv
from failgraph.codec.attributes import read_text
from failgraph.traces.graphs import Trace

Outcome = Literal["failed", "recovered", "unknown"]


def outcome_of(trace: Trace) -> Outcome:
    """Return how the root hop ended.

    `failed` if it has an own failure, or if a rollout inside it ended with one; `recovered` if it
    has none, but reported failures; `unknown` if it is missing, wrote no report, reported none of
    the failures, was cancelled or was left by another exception.
    """
    if trace.root is None:
        return "unknown"
    if read_text(trace.root.attributes, semconv.REPORT_ID) is not None:
        return "failed"  # even if that failure is lost
    if trace.recovered is None:
        return "unknown"
    root_id = trace.root.span_id
    reported = {
        event_id
        for hop in trace.hops
        if hop.span.span_id == root_id and hop.report is not None
        for event_id in hop.report.events
    }
    if reported - trace.recovered:
        return "failed"  # what is not recovered ended a rollout
    return "recovered" if trace.recovered else "unknown"
