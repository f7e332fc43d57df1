"""What the tests of the journal share: events, the lines of a directory, and failures that are in one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from failgraph import FailureBoundary, FailureEvent


def event(event_id: str, cause: str | None = None, **fields: Any) -> FailureEvent:
    """A valid record with this id."""
    known = {
        "failure_kind": "transport_timeout",
        "boundary": FailureBoundary.MODEL,
        "failure_reason": "no answer",
    }
    return FailureEvent(event_id=event_id, cause_id=cause, **{**known, **fields})


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
