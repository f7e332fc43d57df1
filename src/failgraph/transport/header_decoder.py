"""Decode reply headers. Careful and bounded, because a server that replies may be hostile."""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from typing import Final
from urllib.parse import unquote

from opentelemetry.trace import SpanContext, TraceFlags

from failgraph.failure.closing import close_map
from failgraph.failure.records import FailureEvent, FailureReport
from failgraph.redaction import redact_fields, redact_report
from failgraph.text import MAX_ID_LENGTH, bounded_id, escape_surrogates
from failgraph.transport.headers import MAX_EVENTS, MAX_VALUE

_SPAN_ENTRY: Final = re.compile(r"([^=,;|]{1,2048})=([0-9a-f]{16})")
_TRACE_ID: Final = re.compile(r"[0-9a-f]{32}")
_ZLIB_OR_GZIP: Final = 32 + zlib.MAX_WBITS  # as `wbits`: the stream's own header says which


def decode_report(value: str) -> FailureReport | None:
    """Return the redacted report that a header holds, or None if it holds none. Never raises.

    An event that breaks the schema is repaired or left out.
    """
    text = _json_text(value) if len(value) <= MAX_VALUE else None
    if text is None:
        return None
    report = _valid_report(text)
    return _repaired_report(text) if report is None else report


def _valid_report(text: bytes) -> FailureReport | None:
    """Return a report that needs no repair, as nearly all do, or None if it may need some."""
    try:
        report = FailureReport.model_validate_json(text, strict=True)
    except ValueError:
        return None
    if len(report.events) > MAX_EVENTS:
        return None
    # The schema converts values in details, and it does not limit an id.
    if any(event.details or len(key) > MAX_ID_LENGTH for key, event in report.events.items()):
        return None
    return redact_report(report)


def _repaired_report(text: bytes) -> FailureReport | None:
    """Return what can be kept of a report that breaks the schema, or None if it is no report."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    entries = document.get("events", {})
    if not isinstance(entries, dict) or len(entries) > MAX_EVENTS:
        return None
    events: dict[str, FailureEvent] = {}
    for key, fields in entries.items():
        event = redact_fields(_safe_id(key), fields) if isinstance(fields, dict) else None
        if event is not None:
            events.setdefault(event.event_id, event)
    own = document.get("failure_id")
    failure_id = _safe_id(own) if isinstance(own, str) else None
    own_is_missing = failure_id is not None and failure_id not in events
    omitted = document.get("omitted") is True or len(events) < len(entries)
    return FailureReport(
        events=close_map(events),
        failure_id=None if own_is_missing else failure_id,
        omitted=omitted or own_is_missing,
    )


def _safe_id(text: str) -> str:
    return bounded_id(escape_surrogates(text))


def _json_text(value: str) -> bytes | None:
    """Return the JSON of a header: plain, in base64, or compressed in base64. None otherwise."""
    text = value.strip().encode("utf-8", "replace")
    if not text or text.startswith(b"{"):
        return text or None
    unpadded = text.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    try:
        decoded = base64.b64decode(unpadded + b"=" * (-len(unpadded) % 4), validate=True)
        if decoded.startswith(b"{"):
            return decoded
        return _decompress(decoded) or None
    except (binascii.Error, zlib.error):
        return None


def _decompress(data: bytes) -> bytes | None:
    """Return what a zlib or gzip stream holds, or None if it is too much or incomplete."""
    stream = zlib.decompressobj(wbits=_ZLIB_OR_GZIP)
    text = stream.decompress(data, MAX_VALUE)
    return text if stream.eof else None


def decode_spans(value: str) -> dict[str, SpanContext]:
    """Return where a peer says that failures were recorded, by event id. Never raises.

    Entries that cannot be read are left out.
    """
    spans: dict[str, SpanContext] = {}
    if len(value) > MAX_VALUE:
        return spans
    for part in value.split("|"):
        trace_id, _, entries = part.strip().partition(";")
        if _TRACE_ID.fullmatch(trace_id) is None or not int(trace_id, 16):
            continue
        for entry in entries.split(",")[:MAX_EVENTS]:
            match = _SPAN_ENTRY.fullmatch(entry.strip())
            if match is not None and int(match[2], 16) and len(spans) < MAX_EVENTS:
                event_id = _safe_id(unquote(match[1], errors="replace"))
                spans.setdefault(event_id, _remote_span(int(trace_id, 16), int(match[2], 16)))
    return spans


def _remote_span(trace_id: int, span_id: int) -> SpanContext:
    return SpanContext(trace_id, span_id, True, TraceFlags(TraceFlags.SAMPLED))
