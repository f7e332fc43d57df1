"""What the tests of the journal share: events, the lines of a directory, and failures that are in one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from builders import event
from failgraph.journal.lines import JournalLine, encode_line
from otlp_file import T0, TRACE

MS = 1_000_000


def files(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.jsonl"))


def lines(directory: Path) -> list[dict[str, Any]]:
    """Each whole line of a journal."""
    found = []
    for path in files(directory):
        for line in path.read_bytes().splitlines():
            if line.endswith(b"}") and line.startswith(b"{"):
                found.append(json.loads(line))
    return found


def ids(directory: Path) -> list[str]:
    """The ids of the failures of a journal."""
    return [line["event"]["event_id"] for line in lines(directory) if "event" in line]


def line(event_id: str, number: int | None = 2, at: int = 5 * MS, **fields: Any) -> bytes:
    """A line of a journal; the span has this number, as in `otlp_file`, and None is outside any trace."""
    cause, record = fields.pop("cause", None), fields.pop("record", {})
    place = (
        {}
        if number is None
        else {"trace_id": TRACE, "span_id": f"{number:016x}", "parent_span_id": f"{1:016x}"}
    )
    known: dict[str, Any] = {
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
        known.update(
            place, span_name=f"span-{number}", span_kind="INTERNAL", span_start_unix_nano=T0 + 1000
        )
    known.update(fields)
    return encode_line(
        JournalLine(
            time_unix_nano=T0 + at, event=event(event_id, cause_id=cause, **record), **known
        )
    )
