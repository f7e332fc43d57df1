"""Failures with no more than they must have: the one place where tests make them."""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import SpanContext, TraceFlags

from failgraph import FailureEvent, NgFailureEvent


def failure(
    kind: str = "judge_failed",
    failure_reason: str = "",
    *,
    boundary: str = "agent",
    cause: BaseException | None = None,
    **fields: Any,
) -> NgFailureEvent:
    """Return an exception to raise or to record; `cause` becomes its `__cause__`."""
    error = NgFailureEvent(kind, failure_reason, boundary=boundary, **fields)
    if cause is not None:
        error.__cause__ = cause
    return error


def event(
    event_id: str = "e",
    *,
    kind: str = "judge_failed",
    boundary: str = "agent",
    **fields: Any,
) -> FailureEvent:
    """Return a record, as a reader finds it."""
    return FailureEvent(event_id=event_id, failure_kind=kind, boundary=boundary, **fields)


def remote_span(trace_id: int, span_id: int) -> SpanContext:
    """Return a span of another process, as a peer's headers name it."""
    return SpanContext(trace_id, span_id, True, TraceFlags(TraceFlags.SAMPLED))
