"""A failure report as reply headers, within a budget, and back; careful, since whoever answers may be hostile.

`X-NG-Failure-Report` holds the report: compact ASCII JSON or, where that does not fit, base64url of its zlib form.
`X-NG-Failure-Spans` says where each failure was recorded:
`<trace id>;<percent-encoded event id>=<span id>,…`, several traces separated by `|`.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from failgraph.failure import cause_graph
from failgraph.failure.closing import close_map
from failgraph.failure.records import FailureEvent, FailureReport, SandboxFailureDetails
from failgraph.redaction import redact_event, redact_fields, truncate_redacted
from failgraph.text import MAX_ID_LENGTH, bounded_id, escape_surrogates

REPORT: Final = "x-ng-failure-report"
ACCEPT: Final = "x-ng-failure-accept"
SPANS: Final = "x-ng-failure-spans"

_MAX_VALUE: Final = 65_536
"""Characters of a header that are looked at, and bytes that a compressed one may become."""
_MAX_EVENTS: Final = 256
_MAX_BITS: Final = 8192
"""Of an exit code: Python turns no number of more than some 14,000 into text."""
_CUTS: Final = (None, 200, 60)
"""To how many characters texts are cut, one after the other, before an event is left out."""
_PLACE = re.compile(r"([^=,;|]{1,2048})=([0-9a-f]{16})")
_TRACE = re.compile(r"[0-9a-f]{32}")


class Place(NamedTuple):
    """The span that a failure was recorded on."""

    trace_id: int
    span_id: int


class Told(NamedTuple):
    """What a reply says: the report as it was sent, and both header values (no spans: None)."""

    report: FailureReport
    report_value: str
    spans_value: str | None


def encode(report: FailureReport, places: Mapping[str, Place], most: int) -> Told | None:
    """`report` in at most `most` bytes of reply head; None where not even an empty one fits.

    First texts are cut, then events are left out: the own chain stays longest, then the newest.
    """
    order = _order(report)
    for limit in _CUTS:
        told = _fitting(report, order, limit, places, most)
        if told is not None:
            return told
    low, high = 0, len(order)
    best = _fitting(report, (), _CUTS[-1], places, most)
    while best is not None and high - low > 1:
        middle = (low + high) // 2
        told = _fitting(report, order[:middle], _CUTS[-1], places, most)
        low, high, best = (middle, high, told) if told is not None else (low, middle, best)
    return best


def _order(report: FailureReport) -> Sequence[str]:
    """The ids by how much they matter: the own chain from the own failure down, then the newest."""
    chain = cause_graph.chain(
        {key: event.cause_id for key, event in report.events.items()}, report.failure_id
    )
    own = set(chain)
    return [*chain, *(key for key in reversed(report.events) if key not in own)][:_MAX_EVENTS]


def _fitting(
    report: FailureReport,
    kept: Sequence[str],
    limit: int | None,
    places: Mapping[str, Place],
    most: int,
) -> Told | None:
    """The report with the events `kept` and texts of at most `limit` characters, as it fits; None where it does not."""
    wanted = set(kept)
    events = {
        key: _shortened(event, limit) for key, event in report.events.items() if key in wanted
    }
    told = FailureReport.model_construct(
        events=close_map(events),
        failure_id=report.failure_id if report.failure_id in events else None,
        omitted=report.omitted or len(events) < len(report.events),
    )
    spans = encode_spans({key: places[key] for key in events if key in places})
    used = _line(REPORT, "") + (_line(SPANS, spans) if spans else 0)
    text = told.model_dump_json()
    if not text.isascii() or not text.isprintable():
        text = json.dumps(told.model_dump(mode="json"), separators=(",", ":"))
    if len(text) > _MAX_VALUE:
        return None  # more than a reader inflates
    if used + len(text) > most:
        text = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return Told(told, text, spans or None) if used + len(text) <= most else None


def size(told: Told) -> int:
    """Bytes of reply head that it takes."""
    return _line(REPORT, told.report_value) + (
        _line(SPANS, told.spans_value) if told.spans_value else 0
    )


def _line(name: str, value: str) -> int:
    """Bytes of a header line."""
    return len(name) + len(value) + len(": \r\n")


def _shortened(event: FailureEvent, limit: int | None) -> FailureEvent:
    """The event with texts of at most `limit` characters, and without an exit code that JSON cannot say."""
    changes: dict[str, object] = {}
    foreign, details = event.foreign_error, event.details
    if limit is not None and len(event.failure_reason) > limit:
        changes["failure_reason"] = truncate_redacted(event.failure_reason, limit)
    if limit is not None and foreign is not None and len(foreign.message) > limit:
        changes["foreign_error"] = foreign.model_copy(
            update={"message": truncate_redacted(foreign.message, limit)}
        )
    if isinstance(details, SandboxFailureDetails):
        inner: dict[str, object] = {}
        reason, code = details.provider_status_reason, details.exit_code
        if limit is not None and reason is not None and len(reason) > limit:
            inner["provider_status_reason"] = truncate_redacted(reason, limit)
        if code is not None and code.bit_length() > _MAX_BITS:
            inner["exit_code"] = None
        if inner:
            changes["details"] = details.model_copy(update=inner)
    return event.model_copy(update=changes) if changes else event


def encode_spans(places: Mapping[str, Place]) -> str:
    """Where failures were recorded, by trace."""
    traces: dict[int, list[str]] = {}
    for event_id, place in places.items():
        traces.setdefault(place.trace_id, []).append(
            f"{quote(event_id, safe=':')}={place.span_id:016x}"
        )
    return "|".join(f"{trace_id:032x};{','.join(entries)}" for trace_id, entries in traces.items())


def decode(value: str) -> FailureReport | None:
    """The report that a header holds, or None. An event that breaks the schema is mended or left out."""
    text = _text(value) if len(value) <= _MAX_VALUE else None
    if text is None:
        return None
    report = _valid(text)
    return _mended(text) if report is None else report


def _valid(text: bytes) -> FailureReport | None:
    """A report to which nothing has to be done but to redact it, as nearly all are; None where it may be another."""
    try:
        report = FailureReport.model_validate_json(text, strict=True)
    except ValueError:
        return None
    events = report.events
    if len(events) > _MAX_EVENTS or any(
        event.details or len(key) > MAX_ID_LENGTH for key, event in events.items()
    ):
        return None  # Details are validated leniently.
    return report.model_copy(
        update={"events": {key: redact_event(event) for key, event in events.items()}}
    )


def _mended(text: bytes) -> FailureReport | None:
    """What can be kept of a report that may break the schema; None where it is none at all."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    events = document.get("events", {}) if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(events, dict) or len(events) > _MAX_EVENTS:
        return None
    kept: dict[str, FailureEvent] = {}
    for key, fields in events.items():
        event = redact_fields(_id(key), fields) if isinstance(fields, dict) else None
        if event is not None:
            kept.setdefault(event.event_id, event)
    own = document.get("failure_id")
    failure_id = _id(own) if isinstance(own, str) else None
    omitted = document.get("omitted") is True or len(kept) < len(events)
    return FailureReport(
        events=close_map(kept),
        failure_id=failure_id if failure_id in kept else None,
        omitted=omitted or (failure_id is not None and failure_id not in kept),
    )


def _id(text: str) -> str:
    return bounded_id(escape_surrogates(text))


def _text(value: str) -> bytes | None:
    """The JSON of a header, plain, in base64, or compressed in base64; None where it is none of these."""
    text: bytes | None = value.strip().encode("utf-8", "replace")
    try:
        if text and not text.startswith(b"{"):
            padded = text.rstrip(b"=") + b"=" * (-len(text.rstrip(b"=")) % 4)
            text = base64.b64decode(padded.replace(b"-", b"+").replace(b"_", b"/"), validate=True)
            text = text if text.startswith(b"{") else _inflated(text)
        return text or None
    except (binascii.Error, zlib.error):
        return None


def _inflated(packed: bytes) -> bytes | None:
    """What a zlib or gzip stream holds; None where that is too much, or not all of it."""
    stream = zlib.decompressobj(wbits=47)
    text = stream.decompress(packed, _MAX_VALUE)
    return text if stream.eof else None


def decode_spans(value: str) -> dict[str, Place]:
    """Where a peer says that failures were recorded, by event id; what cannot be read is left out."""
    found: dict[str, Place] = {}
    if len(value) > _MAX_VALUE:
        return found
    for part in value.split("|"):
        trace_id, _, entries = part.strip().partition(";")
        if _TRACE.fullmatch(trace_id) is None or not int(trace_id, 16):
            continue
        for entry in entries.split(",")[:_MAX_EVENTS]:
            match = _PLACE.fullmatch(entry.strip())
            if match is not None and int(match[2], 16) and len(found) < _MAX_EVENTS:
                found.setdefault(
                    _id(unquote(match[1], errors="replace")),
                    Place(int(trace_id, 16), int(match[2], 16)),
                )
    return found
