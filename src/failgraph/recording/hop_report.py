"""Write the failure report of a hop on its span."""

from __future__ import annotations

from opentelemetry.trace import Span, SpanContext, Status, StatusCode

from failgraph.codec import AttributeLimits
from failgraph.codec.report_encoder import HopSummary, report_attributes
from failgraph.failure.records import FailureReport
from failgraph.recording import sdk_spans
from failgraph.recording.hop import Hop
from failgraph.recording.index import Index
from failgraph.semconv import REPORT_ROOT_SPAN_ID
from failgraph.text import truncate

_MAX_DESCRIPTION = 256


def write_report(
    hop: Hop,
    index: Index,
    *,
    failed: bool,
    unfinished: bool = False,
    sent: FailureReport | None = None,
) -> None:
    """Write the report of `hop` on its span, if it has one.

    Args:
        hop: The hop.
        index: Knows the spans of the failures, and an earlier hop on the same span.
        failed: True if the own failure is the result of the hop: the span is marked as an error.
        unfinished: True if the hop came to no result.
        sent: The report as the caller received it; None if none was sent.
    """
    span = hop.span
    if span is None:
        return
    context = span.get_span_context()
    earlier = index.swap_log(context, hop.log)
    if earlier is not None:
        hop.log.absorb(earlier)
        hop.log.failure_id = hop.log.failure_id or earlier.failure_id
    summary = hop.log.summary()._replace(sent=sent, unfinished=unfinished)
    if hop.outermost:
        index.set_own_failure(context.trace_id, summary.failure_id)
    present = sdk_spans.attributes_of(span)
    root_span_id = _root_span_id(summary, context, index)
    if root_span_id is None and REPORT_ROOT_SPAN_ID in present:
        root_span_id = ""  # that of an earlier hop on this span, which had another root cause
    summary = summary._replace(root_span_id=root_span_id)
    limits = _free_limits(span, len(present))
    span.set_attributes(report_attributes(summary, limits, present))
    if failed and summary.failure_id is not None:
        _mark_error(span, summary.events[summary.failure_id].failure_kind)


def _root_span_id(summary: HopSummary, context: SpanContext, index: Index) -> str | None:
    """Return the span id of the root cause, 16 hex digits, or None if it is not in this trace."""
    place = index.place_of(summary.root_id, context.trace_id)
    if place is None or place.trace_id != context.trace_id:
        return None
    return f"{place.span_id:016x}"


def _free_limits(span: Span, used: int) -> AttributeLimits:
    """Return the attribute limits of a span that has `used` attributes."""
    limits = sdk_spans.span_limits(span).span
    if limits.attributes is None:
        return limits
    return limits._replace(attributes=max(0, limits.attributes - used))


def _mark_error(span: Span, kind: str) -> None:
    """Set the status ERROR with the kind, unless the program has set a status of its own."""
    status = getattr(span, "status", None)
    if not isinstance(status, Status):
        return
    is_bare_error = status.status_code is StatusCode.ERROR and not status.description
    if status.status_code is StatusCode.UNSET or is_bare_error:
        span.set_status(Status(StatusCode.ERROR, truncate(kind, _MAX_DESCRIPTION)))
