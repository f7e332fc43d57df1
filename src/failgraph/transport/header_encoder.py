"""Encode a failure report as reply headers that fit into a number of bytes."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

from opentelemetry.trace import SpanContext

from failgraph.failure import cause_graph
from failgraph.failure.closing import close_map
from failgraph.failure.records import FailureEvent, FailureReport, SandboxFailureDetails
from failgraph.redaction import truncate_redacted
from failgraph.transport.headers import (
    MAX_EVENTS,
    MAX_VALUE,
    REPORT,
    SPANS,
    ReplyHeaders,
    line_bytes,
)

# Texts are cut to these lengths in characters, one after the other, before an event is left out.
_TEXT_LIMITS: Final = (None, 200, 60)
_MAX_EXIT_CODE_BITS: Final = 8192  # Python converts no integer of over 14,000 bits to text


def encode_headers(
    report: FailureReport, spans: Mapping[str, SpanContext], max_bytes: int
) -> ReplyHeaders | None:
    """Encode a report, or return None if not even an empty one fits.

    First texts are cut, then events are left out. The chain of the own failure is kept longest,
    then the newest events.

    Args:
        report: Its texts are redacted.
        spans: The span that each failure was recorded on, as far as it is known, by event id.
        max_bytes: Bytes of both header lines, with names and line ends.
    """
    order = _by_importance(report)
    for text_limit in _TEXT_LIMITS:
        headers = _encode_events(report, order, text_limit, spans, max_bytes)
        if headers is not None:
            return headers
    # Binary search for the most events that fit.
    fitting, too_many = 0, len(order)
    best = _encode_events(report, (), _TEXT_LIMITS[-1], spans, max_bytes)
    while best is not None and too_many - fitting > 1:
        middle = (fitting + too_many) // 2
        headers = _encode_events(report, order[:middle], _TEXT_LIMITS[-1], spans, max_bytes)
        if headers is None:
            too_many = middle
        else:
            fitting, best = middle, headers
    return best


def _by_importance(report: FailureReport) -> Sequence[str]:
    """Return the ids to send: the own chain from the own failure down, then the newest."""
    causes = {key: event.cause_id for key, event in report.events.items()}
    own_chain = cause_graph.chain(causes, report.failure_id)
    in_chain = set(own_chain)
    newest = [key for key in reversed(report.events) if key not in in_chain]
    return [*own_chain, *newest][:MAX_EVENTS]


def _encode_events(
    report: FailureReport,
    ids: Sequence[str],
    text_limit: int | None,
    spans: Mapping[str, SpanContext],
    max_bytes: int,
) -> ReplyHeaders | None:
    """Encode the events of these ids, with cut texts. Return None if they do not fit."""
    selected = set(ids)
    events = {
        key: _shorten(event, text_limit) for key, event in report.events.items() if key in selected
    }
    sent = FailureReport.model_construct(
        events=close_map(events),
        failure_id=report.failure_id if report.failure_id in events else None,
        omitted=report.omitted or len(events) < len(report.events),
    )
    spans_value = encode_spans({key: spans[key] for key in events if key in spans})
    value = _ascii_json(sent)
    if len(value) > MAX_VALUE:
        return None  # a reader would not inflate it
    free = max_bytes - line_bytes(REPORT, "")
    if spans_value:
        free -= line_bytes(SPANS, spans_value)
    if len(value) > free:
        value = base64.urlsafe_b64encode(zlib.compress(value.encode(), 9)).decode().rstrip("=")
    return ReplyHeaders(sent, value, spans_value or None) if len(value) <= free else None


def _ascii_json(report: FailureReport) -> str:
    text = report.model_dump_json()
    if text.isascii() and text.isprintable():
        return text
    return json.dumps(report.model_dump(mode="json"), separators=(",", ":"))


def _shorten(event: FailureEvent, text_limit: int | None) -> FailureEvent:
    """Cut the texts of an event, and drop an exit code that JSON cannot hold."""
    changes: dict[str, object] = {}
    foreign, details = event.foreign_error, event.details
    if text_limit is not None and len(event.failure_reason) > text_limit:
        changes["failure_reason"] = truncate_redacted(event.failure_reason, text_limit)
    if text_limit is not None and foreign is not None and len(foreign.message) > text_limit:
        message = truncate_redacted(foreign.message, text_limit)
        changes["foreign_error"] = foreign.model_copy(update={"message": message})
    if isinstance(details, SandboxFailureDetails):
        details_changes: dict[str, object] = {}
        reason = details.provider_status_reason
        if text_limit is not None and reason is not None and len(reason) > text_limit:
            details_changes["provider_status_reason"] = truncate_redacted(reason, text_limit)
        if (details.exit_code or 0).bit_length() > _MAX_EXIT_CODE_BITS:
            details_changes["exit_code"] = None
        if details_changes:
            changes["details"] = details.model_copy(update=details_changes)
    return event.model_copy(update=changes) if changes else event


def encode_spans(spans: Mapping[str, SpanContext]) -> str:
    """Return the value that says where failures were recorded, empty if no span is known."""
    traces: dict[int, list[str]] = {}
    for event_id, span in spans.items():
        entry = f"{quote(event_id, safe=':')}={span.span_id:016x}"
        traces.setdefault(span.trace_id, []).append(entry)
    return "|".join(f"{trace_id:032x};{','.join(entries)}" for trace_id, entries in traces.items())
