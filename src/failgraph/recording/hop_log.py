"""The failures that one hop has seen, and the report that is made of them. Bounded."""

from __future__ import annotations

import threading
from typing import NamedTuple

from failgraph.codec.report_encoder import HopSummary
from failgraph.diagnostics import count
from failgraph.failure import cause_graph
from failgraph.failure.closing import close_map
from failgraph.failure.records import FailureEvent, FailureReport
from failgraph.text import MAX_ID_LENGTH

MAX_LOGGED = 1024
"""Failures that a hop's log holds."""
MAX_REPORTED = 256
"""Failures that a report holds."""

# One lock for all logs, so that a forked child can get a new one: threads that were given one
# context share its hop.
_lock = threading.RLock()


def reset_after_fork() -> None:
    """Give a forked child a lock that nobody holds."""
    global _lock
    _lock = threading.RLock()


class LoggedFailure(NamedTuple):
    """A failure in the log.

    Attributes:
        event: Its record.
        time_unix_nano: When it was observed, in ns since the epoch.
        seq: Its order in the process, among failures of one time.
        is_remote: True for a copy that a peer sent.
    """

    event: FailureEvent
    time_unix_nano: int
    seq: int
    is_remote: bool = False


def _size(event: FailureEvent) -> int:
    """Return how much text a copy of an event holds, in bytes of JSON."""
    return len(event.model_dump_json())


class HopLog:
    """The failures that a hop has seen, each once.

    Of several copies of one event id, the observer's own is kept; among copies from peers, the
    longest.

    Attributes:
        failure_id: The event id of the hop's own failure, or None.
    """

    def __init__(self) -> None:
        self._logged: dict[str, LoggedFailure] = {}
        self._effect_counts: dict[str, int] = {}  # kept events by the cause that they name
        self._total_seen = 0
        self._omitted = False
        self.failure_id: str | None = None

    def __len__(self) -> int:
        """Return the number of failures that it holds."""
        return len(self._logged)

    def add(self, failure: LoggedFailure) -> None:
        """Add a failure, or a better copy of one."""
        event = failure.event
        with _lock:
            known = self._logged.get(event.event_id)
            if known is not None:
                if _is_better(failure, known):
                    self._replace(known, failure)
                return
            self._total_seen += 1
            self._logged[event.event_id] = failure
            self._count_effect(event.cause_id, 1)
            if len(self._logged) > MAX_LOGGED:
                self._evict(event.event_id)

    def _replace(self, known: LoggedFailure, better: LoggedFailure) -> None:
        """Put a better copy in place of a known one; keep a cause that only the known one names."""
        event = better.event
        if event.cause_id is None and known.event.cause_id is not None:
            event = event.model_copy(update={"cause_id": known.event.cause_id})
        self._count_effect(known.event.cause_id, -1)
        self._count_effect(event.cause_id, 1)
        self._logged[event.event_id] = known._replace(event=event, is_remote=better.is_remote)

    def _count_effect(self, cause_id: str | None, by: int) -> None:
        """Count how many kept events name `cause_id` as their cause."""
        if cause_id is None:
            return
        effects = self._effect_counts.get(cause_id, 0) + by
        if effects:
            self._effect_counts[cause_id] = effects
        else:
            del self._effect_counts[cause_id]

    def _evict(self, newest_id: str) -> None:
        """Drop the oldest failure that no kept one names as its cause, copies from peers first."""
        kept = (newest_id, self.failure_id)
        candidates = [key for key in self._logged if key not in kept]
        unnamed = [key for key in candidates if not self._effect_counts.get(key)]
        remote = [key for key in unnamed if self._logged[key].is_remote]
        evicted = (remote or unnamed or candidates)[0]
        self._count_effect(self._logged.pop(evicted).event.cause_id, -1)
        self._omitted = True
        count("log_evicted")

    def claim(self, event_id: str | None) -> bool:
        """Make a logged failure the hop's own. Return False if it is not in the log."""
        with _lock:
            if event_id is None or event_id not in self._logged:
                return False
            self.failure_id = event_id
            return True

    def absorb(self, inner: HopLog) -> None:
        """Add what a hop inside this one has seen; its own failure does not become this hop's."""
        with _lock:
            for failure in list(inner._logged.values()):
                self.add(failure)
            self._total_seen += inner._total_seen - len(inner._logged)
            self._omitted = self._omitted or inner._omitted

    def summary(self) -> HopSummary:
        """Return all that the hop has seen, earliest first, for the attributes of its span."""
        events = self._by_time()
        failure_id = self._reportable_id(events)
        omitted = self._omitted or failure_id != self.failure_id
        return HopSummary(events, failure_id, omitted, self._total_seen)

    def report(self) -> FailureReport:
        """Return the hop's report.

        It holds at most 256 failures: the chain of the own failure first, then the newest.
        `omitted` is set if that is not all.
        """
        events = self._by_time()
        failure_id = self._reportable_id(events)
        causes = {key: event.cause_id for key, event in events.items()}
        own_chain = cause_graph.chain(causes, failure_id)[:MAX_REPORTED]
        in_chain = set(own_chain)
        others = [key for key in reversed(events) if key not in in_chain]
        kept = {*own_chain, *others[: MAX_REPORTED - len(own_chain)]}
        omitted = self._omitted or len(kept) < len(events) or failure_id != self.failure_id
        return FailureReport(
            events=close_map({key: event for key, event in events.items() if key in kept}),
            failure_id=failure_id,
            omitted=omitted,
        )

    def _by_time(self) -> dict[str, FailureEvent]:
        with _lock:
            logged = list(self._logged.values())
        logged.sort(key=lambda each: (each.time_unix_nano, each.seq))
        return {each.event.event_id: each.event for each in logged}

    def _reportable_id(self, events: dict[str, FailureEvent]) -> str | None:
        """Return the own failure's id, or None if a report cannot name it: it may be too long."""
        own = self.failure_id
        return own if own is not None and own in events and len(own) <= MAX_ID_LENGTH else None


def _is_better(new: LoggedFailure, known: LoggedFailure) -> bool:
    if not known.is_remote:
        return False
    return not new.is_remote or _size(new.event) > _size(known.event)
