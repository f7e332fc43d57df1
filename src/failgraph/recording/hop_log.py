"""The failures that one hop has seen: bounded, and the report that is made of them."""

from __future__ import annotations

import threading
from typing import NamedTuple

from failgraph.codec.report_encoder import HopSummary as Seen
from failgraph.diagnostics import count
from failgraph.exceptions.reports import closed
from failgraph.failure import cause_graph
from failgraph.failure.records import FailureEvent, FailureReport
from failgraph.text import ID_LENGTH

MAX_LOGGED = 1024
MAX_REPORTED = 256

# One for all logs, so that a forked child can have a new one: threads that were given one context share its hop.
_lock = threading.RLock()


def reset_after_fork() -> None:
    """Give a forked child a lock that nobody holds."""
    global _lock
    _lock = threading.RLock()


class Logged(NamedTuple):
    """A failure in the log; `time_unix_nano` and `seq` give its order."""

    event: FailureEvent
    time_unix_nano: int
    seq: int
    remote: bool = False
    """A copy that a peer sent."""


def _text(event: FailureEvent) -> int:
    """How much a copy of an event says."""
    return len(event.model_dump_json())


class HopLog:
    """What a hop has seen, each failure once. Of copies of one id the observer's own is kept, of peers' the longest."""

    def __init__(self) -> None:
        self._logged: dict[str, Logged] = {}
        self._effects: dict[str, int] = {}
        self._seen = 0
        self._omitted = False
        self.failure_id: str | None = None

    def __len__(self) -> int:
        """How many failures it holds."""
        return len(self._logged)

    def note(self, logged: Logged) -> None:
        """Add a failure."""
        event = logged.event
        with _lock:
            known = self._logged.get(event.event_id)
            if known is not None:
                if known.remote and (not logged.remote or _text(event) > _text(known.event)):
                    self._replace(known, logged)
                return
            self._seen += 1
            self._logged[event.event_id] = logged
            self._name(event.cause_id, 1)
            if len(self._logged) > MAX_LOGGED:
                self._evict(event.event_id)

    def _replace(self, known: Logged, better: Logged) -> None:
        """Put a better copy in the place of one; an edge that only the one has is kept."""
        event = better.event
        if event.cause_id is None and known.event.cause_id is not None:
            event = event.model_copy(update={"cause_id": known.event.cause_id})
        self._name(known.event.cause_id, -1)
        self._name(event.cause_id, 1)
        self._logged[event.event_id] = known._replace(event=event, remote=better.remote)

    def _name(self, cause_id: str | None, by: int) -> None:
        """Count how many kept events name `cause_id` as their cause."""
        if cause_id is not None:
            left = self._effects.get(cause_id, 0) + by
            if left:
                self._effects[cause_id] = left
            else:
                del self._effects[cause_id]

    def claim(self, event_id: str | None) -> bool:
        """Make a failure of the log the hop's own; whether it is in the log."""
        with _lock:
            if event_id is None or event_id not in self._logged:
                return False
            self.failure_id = event_id
            return True

    def _evict(self, newest: str) -> None:
        """Let the oldest go that no kept event names as its cause, peers' copies first; else the oldest."""
        kept = (newest, self.failure_id)
        free = [key for key in self._logged if key not in kept]
        unnamed = [key for key in free if not self._effects.get(key)]
        gone = next((key for key in unnamed if self._logged[key].remote), (unnamed or free)[0])
        self._name(self._logged.pop(gone).event.cause_id, -1)
        self._omitted = True
        count("log_evicted")

    def absorb(self, other: HopLog) -> None:
        """Add what a hop inside this one has seen; its own failure is none of ours yet."""
        with _lock:
            for logged in list(other._logged.values()):
                self.note(logged)
            self._seen += other._seen - len(other._logged)
            self._omitted = self._omitted or other._omitted

    def _ordered(self) -> dict[str, FailureEvent]:
        with _lock:
            logged = list(self._logged.values())
        logged.sort(key=lambda each: (each.time_unix_nano, each.seq))
        return {each.event.event_id: each.event for each in logged}

    def seen(self) -> Seen:
        """All of it, earliest first, for the hop's span."""
        events = self._ordered()
        failure_id = self._own(events)
        return Seen(events, failure_id, self._omitted or failure_id != self.failure_id, self._seen)

    def report(self) -> FailureReport:
        """The report: at most 256 failures, the own chain first, then the newest; `omitted` where that is not all."""
        events = self._ordered()
        failure_id = self._own(events)
        chosen = cause_graph.chain(
            {key: event.cause_id for key, event in events.items()}, failure_id
        )[:MAX_REPORTED]
        own_chain = set(chosen)
        newest = [key for key in reversed(events) if key not in own_chain]
        kept = {*chosen, *newest[: MAX_REPORTED - len(chosen)]}
        return FailureReport(
            events=closed({key: event for key, event in events.items() if key in kept}),
            failure_id=failure_id,
            omitted=self._omitted or len(kept) < len(events) or failure_id != self.failure_id,
        )

    def _own(self, events: dict[str, FailureEvent]) -> str | None:
        # A report cannot name an id of more than 128 characters; `omitted` then says that something is missing.
        own = self.failure_id
        return own if own is not None and own in events and len(own) <= ID_LENGTH else None
