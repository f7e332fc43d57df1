"""Where the failures of a journal stand: ids made of what the lines say, and so the same whenever they are read."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from failgraph.journal.lines import JournalLine


class Place(NamedTuple):
    """Where a failure of the journal stands; made of its content, and so always the same."""

    trace_id: str
    span_id: str
    """Of the failure span that is made for it."""
    parent_span_id: str | None
    """The span that it was observed on."""


class Origins:
    """The first causes of what was observed outside any trace, by which it is put together, as far as it was read."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def place(self, line: JournalLine) -> Place:
        """Where the failure of a line stands; its causes come before it in a journal."""
        event = line.event
        trace_id = line.trace_id
        if trace_id is None:
            origin = self._of.get(event.cause_id or "", event.event_id)
            self._of[event.event_id] = origin
            trace_id = hashlib.sha256(f"failgraph\n{origin}".encode()).hexdigest()[:32]
        made_of = f"{trace_id}\n{line.span_id or ''}\n{event.event_id}"
        return Place(trace_id, hashlib.sha256(made_of.encode()).hexdigest()[:16], line.span_id)
