"""Which span a failure belongs to."""

from __future__ import annotations

from typing import Literal, NamedTuple

from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, Span, SpanContext

from failgraph.context import Moment
from failgraph.recording.hop import Hop, hop_of

Placement = Literal["span", "failure_span", "journal", "deferred", "duplicate", "nowhere"]


class Recorded(NamedTuple):
    """Where a failure went.

    Attributes:
        event_id: The id of the outermost failure; None if nothing could be recorded.
        placement: `span`, on the span that it belongs to, mostly that in which the exception was
            created; `failure_span`, on a short span of its own; `journal`, in the journal only;
            `deferred`, it is recorded soon; `duplicate`, it was recorded before; `nowhere`.
        span_context: The span that holds it, or None.
    """

    event_id: str | None
    placement: Placement
    span_context: SpanContext | None


Recorded.__module__ = "failgraph"

NOT_RECORDED = Recorded(None, "nowhere", None)


class Destination(NamedTuple):
    """The span that a failure belongs to, and the hop of that span.

    The span is invalid if the failure belongs to no trace.
    """

    span: Span
    hop: Hop | None


def choose_destination(
    given: Span | None, birth: Moment, now: Moment, open_hops: list[Hop]
) -> Destination:
    """Return where a failure belongs.

    Args:
        given: The span that the caller of `record` named.
        birth: Where the failure was created.
        now: Where it is recorded.
        open_hops: The open hops that have seen it.
    """
    if given is not None:
        return Destination(given, hop_of(now) or hop_of(birth))
    if birth.span is not None:
        reachable = birth.span.get_span_context().trace_flags.sampled
        if not reachable and now.span is not None and _same_trace(now.span, birth.span):
            return Destination(now.span, hop_of(now))
        return Destination(birth.span, hop_of(birth))
    for hop in open_hops:
        if hop.span is not None:
            return Destination(hop.span, hop)
    return Destination(INVALID_SPAN, None)


def has_ended(span: Span | None) -> bool:
    """Return True if `span` is a sampled span of this process that has ended."""
    if span is None or isinstance(span, NonRecordingSpan) or span.is_recording():
        return False
    return span.get_span_context().trace_flags.sampled


def is_in_trace_of(birth: Moment, hop: Hop) -> bool:
    """Return True unless a failure was created in another trace than that of `hop`."""
    if birth.span is None or hop.trace_id is None:
        return True
    return birth.span.get_span_context().trace_id == hop.trace_id


def _same_trace(one: Span, other: Span) -> bool:
    return one.get_span_context().trace_id == other.get_span_context().trace_id
