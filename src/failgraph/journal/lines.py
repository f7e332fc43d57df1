"""A line of the journal: one failure, where it was observed, and where it went in the trace."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from failgraph.codec.attributes import read_int
from failgraph.failure.records import FailureEvent
from failgraph.failure.salvage import salvage

_KEYS = frozenset({"time_unix_nano", "trace_id", "span_id", "placement", "event"})
_NOTE = frozenset({"removed", "service", "pid"})
_HEX = re.compile("[0-9a-f]+")
_HUGE = 2**63


class JournalLine(NamedTuple):
    """A failure as the journal has it. Ids are in lower-case hex."""

    time_unix_nano: int
    seq: int
    """Its order in the process."""
    trace_id: str | None
    """None, as the two below, where it was observed outside any trace."""
    span_id: str | None
    """The span that it was observed on, also where it went on a failure span."""
    parent_span_id: str | None
    span_name: str
    span_kind: str
    """As readers have it; empty where it is not known, as that of a span that is not sampled."""
    span_start_unix_nano: int
    """0 where it is not known."""
    service: str
    pid: int
    placement: str
    """Where it is in the trace: `span`, `failure_span`, or `journal` where it is here alone."""
    own: bool
    """Whether it was recorded as the own failure of its hop."""
    event: FailureEvent
    remote: bool = False
    """A copy that a peer sent of what it had not recorded."""
    late: bool = False
    """Recorded after its hop's report was written."""


def encode_line(line: JournalLine) -> bytes:
    """The bytes of a line, with the line feed; ASCII alone."""
    fields = line._asdict()
    fields["event"] = _numbers(line.event.model_dump(mode="json"))
    for name in ("remote", "late"):
        if not fields[name]:
            del fields[name]
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def _numbers(event: dict[str, Any]) -> dict[str, Any]:
    """With an exit code that Python might refuse to print as decimal text, as it has it in a trace."""
    code = (event.get("details") or {}).get("exit_code")
    if isinstance(code, int) and not -_HUGE <= code < _HUGE:
        event["details"]["exit_code"] = str(Decimal(code))
    return event


def encode_removed_note(removed: int, service: str, pid: int) -> bytes:
    """The first line of a file before which so many failures of the process were removed."""
    return (
        json.dumps(
            {"removed": removed, "service": service, "pid": pid}, separators=(",", ":")
        ).encode()
        + b"\n"
    )


def is_journal_line(document: object) -> bool:
    """Whether a JSON document is a line of a journal."""
    return isinstance(document, dict) and document.keys() >= _KEYS


def is_removed_note(document: object) -> bool:
    """Whether a JSON document says how much of a journal was removed."""
    return isinstance(document, dict) and document.keys() == _NOTE


def parse_line(fields: Mapping[str, Any]) -> JournalLine:
    """The line that a JSON document is. Raises ValueError in a sentence where it cannot be one."""
    trace_id, span_id = _id(fields, "trace_id", 32), _id(fields, "span_id", 16)
    if (trace_id is None) != (span_id is None):
        raise ValueError("a journal's line with half a place")
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
        raise ValueError("a journal's line whose event has no id")
    details = fields.get("details")
    if isinstance(details, dict) and isinstance(details.get("exit_code"), str):
        fields = {**fields, "details": {**details, "exit_code": read_int(details["exit_code"])}}
    event, _ = salvage(event_id, fields)
    if event is None:
        raise ValueError("a journal's line whose event has no boundary")
    return event


def _id(fields: Mapping[str, Any], name: str, digits: int) -> str | None:
    value = fields.get(name)
    if value is not None and not (
        isinstance(value, str) and len(value) == digits and _HEX.fullmatch(value)
    ):
        raise ValueError(f"a journal's line whose {name} is no id of {digits} hex digits")
    return value


def _count(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2 * _HUGE:
        raise ValueError(f"a journal's line whose {name} is no number of 64 bits")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
