"""Read the files of a journal, and build lines of one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from builders import event
from failgraph.journal.lines import JournalLine, encode_line
from otlp_file import T0, TRACE

MS = 1_000_000


def files(directory: Path) -> list[Path]:
    """Return the files of a journal, sorted."""
    return sorted(directory.glob("*.jsonl"))


def lines(directory: Path) -> list[dict[str, Any]]:
    """Return each line of a journal that is not cut."""
    return [
        json.loads(line)
        for path in files(directory)
        for line in path.read_bytes().splitlines()
        if line.startswith(b"{") and line.endswith(b"}")
    ]


def ids(directory: Path) -> list[str]:
    """Return the ids of the failures in a journal."""
    return [line["event"]["event_id"] for line in lines(directory) if "event" in line]


def line(event_id: str, number: int | None = 2, at: int = 5 * MS, **fields: Any) -> bytes:
    """Return a line of a journal.

    Args:
        event_id: The id of the failure.
        number: The id of its span, as a number (see `otlp_file`), or None outside any trace.
        at: Its time, in ns after T0.
        fields: Other fields of the line; `cause` is the id of its cause, `record` more fields
            of the failure.
    """
    cause_id, record = fields.pop("cause", None), fields.pop("record", {})
    values: dict[str, Any] = {
        "trace_id": None,
        "span_id": None,
        "parent_span_id": None,
        "span_name": "",
        "span_kind": "",
        "span_start_unix_nano": 0,
        "service": "policy",
        "pid": 7,
        "placement": "span",
        "own": False,
        "seq": 0,
    }
    if number is not None:
        values.update(
            trace_id=TRACE,
            span_id=f"{number:016x}",
            parent_span_id=f"{1:016x}",
            span_name=f"span-{number}",
            span_kind="INTERNAL",
            span_start_unix_nano=T0 + 1000,
        )
    values.update(fields)
    failed = event(event_id, cause_id=cause_id, **record)
    return encode_line(JournalLine(time_unix_nano=T0 + at, event=failed, **values))
