"""Which traces somebody asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from failgraph.traces.failures import FailureRecord
from failgraph.traces.graphs import Trace


@dataclass(frozen=True, slots=True)
class Query:
    """Conditions that all have to hold; an empty one always does."""

    since_unix_nano: int | None = None
    """Only traces that began at this time or later; one whose start is unknown is not left out."""
    kinds: frozenset[str] = frozenset()
    boundaries: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()
    """A trace is of a service where it begins there, and where the failure was observed there."""
    rollout_id: str | None = None
    limit: int | None = None
    """So many traces at most, the newest."""

    def matches(self, trace: Trace) -> bool:
        """Whether it is a trace of that time and rollout, and one of its failures is what is asked for."""
        if not self.is_since(trace.start_unix_nano):
            return False
        if self.rollout_id is not None and self.rollout_id not in trace.rollout_ids:
            return False
        return any(self.asks_for(trace, failure) for failure in trace.failures.values())

    def is_since(self, start_unix_nano: int) -> bool:
        """Whether a trace that begins at this time, 0 where unknown, is of the time that is asked for."""
        return self.since_unix_nano is None or not 0 < start_unix_nano < self.since_unix_nano

    def asks_for(self, trace: Trace, failure: FailureRecord) -> bool:
        """Whether a failure has the kind, the boundary and the service."""
        return (
            (not self.kinds or failure.event.failure_kind in self.kinds)
            and (not self.boundaries or failure.event.boundary.value in self.boundaries)
            and (not self.services or bool(self.services & {trace.service, failure.span.service}))
        )

    def chosen(self, traces: Sequence[Trace]) -> list[Trace]:
        """Those that match, by start."""
        matching = [trace for trace in traces if self.matches(trace)]
        return matching if self.limit is None else matching[max(0, len(matching) - self.limit) :]
