"""Decide which failures of a trace its root hop recovered from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph import semconv
from failgraph.codec.attributes import read_text
from failgraph.codec.report_decoder import read_report_ids
from failgraph.failure import cause_graph
from failgraph.traces.failures import FailureRecord
from failgraph.traces.hops import report_losses
from failgraph.traces.spans import SpanRecord


def recovered_failures(
    root: SpanRecord | None,
    spans: Mapping[str, SpanRecord],
    failures: Mapping[str, FailureRecord],
    causes: Mapping[str, str | None],
) -> frozenset[str] | None:
    """Return what the root hop reported and recovered from, or None if that is unknown.

    Not recovered are its own failure, those that ended a rollout, and all their causes.

    Args:
        root: The span of the root hop, or None if it is missing.
        spans: The spans of the trace, by span id.
        failures: The failures of the trace, by event id.
        causes: Cause ids by event id, without those that the source does not hold.
    """
    if root is None or next(report_losses(root), None) is not None:
        return None
    if not isinstance(root.attributes.get(semconv.REPORT_IDS), (list, tuple)):
        return None
    if root.attributes.get(semconv.REPORT_UNFINISHED) is True:
        return None
    failure_id = read_text(root.attributes, semconv.REPORT_ID)
    own_chain = cause_graph.chain(causes, failure_id)
    if failure_id is not None and not own_chain:
        return None  # the own failure is lost
    if own_chain and failures[own_chain[-1]].event.cause_id is not None:
        return None  # the end of its chain is lost
    fatal = {key for ended in _ended_rollouts(spans) for key in cause_graph.chain(causes, ended)}
    reported = frozenset(read_report_ids(root.attributes))
    return reported & failures.keys() - {*own_chain, *fatal}


def _ended_rollouts(spans: Mapping[str, SpanRecord]) -> Iterator[str]:
    """Yield the ids of failures that rollout attempts ended with, or were given up with.

    A job with many rollouts goes on after them, but that recovers none.
    """
    for span in spans.values():
        if span.name == semconv.ROLLOUT_SPAN:
            if span.attributes.get(semconv.REPORT_UNFINISHED) is True:
                yield from read_report_ids(span.attributes)
            own_id = read_text(span.attributes, semconv.REPORT_ID)
            if own_id is not None:
                yield own_id
