"""Encode and parse the lines of the journal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from failgraph.codec.attributes import read_int
from failgraph.failure.records import FailureEvent
from failgraph.failure.salvage import salvage

_REQUIRED_KEYS = frozenset({"time_unix_nano", "trace_id", "span_id", "placement", "event"})
_NOTE_KEYS = frozenset({"removed", "service", "pid"})
_HEX = re.compile("[0-9a-f]+")
_INT64 = 2**63


class JournalLine(NamedTuple):
    """A failure, where it was observed, and its placement. Ids are in lower-case hex.

    Attributes:
        time_unix_nano: When the failure was born, in ns since the epoch.
        seq: Its order in the process.
        trace_id: 32 digits, or None if it was observed outside any trace.
        span_id: 16 digits: the span that it was observed on, even if a failure span holds it. None
            if it was observed outside any trace.
        parent_span_id: 16 digits, or None if the span has no parent.
        span_name: Name of the span.
        span_kind: Kind of the span as readers have it; empty if unknown, as for an unsampled span.
        span_start_unix_nano: In ns since the epoch, 0 if unknown.
        service: The service that observed it.
        pid: The process that observed it.
        placement: Where it is: `span`, `failure_span`, or `journal` if it is in no trace.
        own: True if it is the own failure of its hop.
        event: The record.
        remote: True if a peer sent this copy, which the peer had not recorded.
        late: True if it was recorded after its hop had written its report.
    """

    time_unix_nano: int
    seq: int
    trace_id: str | None
    span_id: str | None
    parent_span_id: str | None
    span_name: str
    span_kind: str
    span_start_unix_nano: int
    service: str
    pid: int
    placement: str
    own: bool
    event: FailureEvent
    remote: bool = False
    late: bool = False


def encode_line(line: JournalLine) -> bytes:
    """Return a line as ASCII JSON with a line feed; `remote` and `late` only if they are true."""
    fields = line._asdict()
    fields["event"] = _with_printable_exit_code(line.event.model_dump(mode="json"))
    for name in ("remote", "late"):
        if not fields[name]:
            del fields[name]
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def _with_printable_exit_code(event: dict[str, Any]) -> dict[str, Any]:
    """Write a huge exit code as a string, as in a trace: Python refuses to print one as decimal."""
    code = (event.get("details") or {}).get("exit_code")
    if isinstance(code, int) and not -_INT64 <= code < _INT64:
        event["details"]["exit_code"] = str(Decimal(code))
    return event


def encode_removed_note(removed: int, service: str, pid: int) -> bytes:
    """Return the first line of a file that says how many failures were removed before it."""
    note = {"removed": removed, "service": service, "pid": pid}
    return json.dumps(note, separators=(",", ":")).encode() + b"\n"


def is_journal_line(document: object) -> bool:
    """Return True if a JSON document is a line with a failure."""
    return isinstance(document, dict) and document.keys() >= _REQUIRED_KEYS


def is_removed_note(document: object) -> bool:
    """Return True if a JSON document is a note on removed failures."""
    return isinstance(document, dict) and document.keys() == _NOTE_KEYS


def parse_line(fields: Mapping[str, Any]) -> JournalLine:
    """Parse a JSON document for which `is_journal_line` is true.

    Raises:
        ValueError: It is not a valid line; the message says why.
    """
    trace_id, span_id = _id(fields, "trace_id", 32), _id(fields, "span_id", 16)
    if (trace_id is None) != (span_id is None):
        raise ValueError("a journal line with only one of trace_id and span_id")
    return JournalLine(
        time_unix_nano=_count(fields, "time_unix_nano"),
        seq=_count(fields, "seq"),
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=_id(fields, "parent_span_id", 16),
        span_name=_text(fields, "span_name"),
        span_kind=_text(fields, "span_kind"),
        span_start_unix_nano=_count(fields, "span_start_unix_nano"),
        service=_text(fields, "service"),
        pid=_count(fields, "pid"),
        placement=_text(fields, "placement"),
        own=fields.get("own") is True,
        event=_event(fields.get("event")),
        remote=fields.get("remote") is True,
        late=fields.get("late") is True,
    )


def _event(fields: object) -> FailureEvent:
    event_id = fields.get("event_id") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(event_id, str) or not event_id:
        raise ValueError("a journal line whose event has no id")
    details = fields.get("details")
    if isinstance(details, dict) and isinstance(details.get("exit_code"), str):
        fields = {**fields, "details": {**details, "exit_code": read_int(details["exit_code"])}}
    event = salvage(event_id, fields).event
    if event is None:
        raise ValueError("a journal line whose event has no boundary")
    return event


def _id(fields: Mapping[str, Any], name: str, digits: int) -> str | None:
    value = fields.get(name)
    if value is not None and not (
        isinstance(value, str) and len(value) == digits and _HEX.fullmatch(value)
    ):
        raise ValueError(f"a journal line whose {name} is not {digits} hex digits")
    return value


def _count(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2 * _INT64:
        raise ValueError(f"a journal line whose {name} is not an integer of 64 bits")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
