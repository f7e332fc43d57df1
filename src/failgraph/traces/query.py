"""Conditions on traces and failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from failgraph.traces.failures import FailureRecord
from failgraph.traces.graphs import Trace


@dataclass(frozen=True, slots=True)
class Query:
    """Conditions that must all hold. An empty query matches every trace with failures.

    Attributes:
        since_unix_nano: Only traces that started at this time or later, in ns since the epoch. A
            trace with an unknown start matches.
        until_unix_nano: Only traces that started at this time or earlier, likewise.
        kinds: Only these failure kinds.
        boundaries: Only these boundaries.
        services: Only traces that start in one of these services, and failures observed in one.
        rollout_id: Only traces of this rollout.
        limit: At most this many traces, the newest.
    """

    since_unix_nano: int | None = None
    until_unix_nano: int | None = None
    kinds: frozenset[str] = frozenset()
    boundaries: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()
    rollout_id: str | None = None
    limit: int | None = None

    @property
    def has_time_limits(self) -> bool:
        """True if the query has a first or a last start."""
        return self.since_unix_nano is not None or self.until_unix_nano is not None

    def matches(self, trace: Trace) -> bool:
        """Return True if start and rollout of the trace match, and one of its failures does."""
        if not self.includes_start(trace.start_unix_nano):
            return False
        if self.rollout_id is not None and self.rollout_id not in trace.rollout_ids:
            return False
        return any(self.matches_failure(trace, failure) for failure in trace.failures.values())

    def includes_start(self, start_unix_nano: int) -> bool:
        """Return True if a trace with this start, 0 if unknown, is neither too old nor too new."""
        if not start_unix_nano:
            return True
        is_too_old = self.since_unix_nano is not None and start_unix_nano < self.since_unix_nano
        is_too_new = self.until_unix_nano is not None and start_unix_nano > self.until_unix_nano
        return not (is_too_old or is_too_new)

    def matches_failure(self, trace: Trace, failure: FailureRecord) -> bool:
        """Return True if a failure of the trace has the right kind, boundary and service."""
        return (
            (not self.kinds or failure.event.failure_kind in self.kinds)
            and (not self.boundaries or failure.event.boundary.value in self.boundaries)
            and (not self.services or bool(self.services & {trace.service, failure.span.service}))
        )

    def select(self, traces: Sequence[Trace]) -> list[Trace]:
        """Return the traces that match, in their order. They must be sorted by start."""
        matching = [trace for trace in traces if self.matches(trace)]
        return matching if self.limit is None else matching[max(0, len(matching) - self.limit) :]
