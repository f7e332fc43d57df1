"""Make ids for the failures of a journal from its lines, so that they never change."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from failgraph.journal.lines import JournalLine


class SpanIds(NamedTuple):
    """Ids of the failure span that is made for a line of a journal.

    Attributes:
        trace_id: 32 hex digits.
        span_id: 16 hex digits.
        parent_span_id: The span that the failure was observed on, or None outside any trace.
    """

    trace_id: str
    span_id: str
    parent_span_id: str | None


class JournalIds:
    """Assign ids to the lines of all files of a journal, in order: causes before effects.

    A chain of failures observed outside any trace becomes one trace, named after its first cause.
    """

    def __init__(self) -> None:
        self._first_causes: dict[str, str] = {}  # by event id, of failures outside any trace

    def ids_of(self, line: JournalLine) -> SpanIds:
        """Return the ids for a line."""
        event = line.event
        trace_id = line.trace_id
        if trace_id is None:
            first_cause = self._first_causes.get(event.cause_id or "", event.event_id)
            self._first_causes[event.event_id] = first_cause
            trace_id = hashlib.sha256(f"failgraph\n{first_cause}".encode()).hexdigest()[:32]
        content = f"{trace_id}\n{line.span_id or ''}\n{event.event_id}"
        span_id = hashlib.sha256(content.encode()).hexdigest()[:16]
        return SpanIds(trace_id, span_id, line.span_id)
