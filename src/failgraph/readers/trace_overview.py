"""Start, end and rollouts of every trace, including traces without failures."""

from __future__ import annotations

from collections.abc import Iterable

from failgraph.readers.skimming.typed_json import SpanTimes
from failgraph.semconv import ROLLOUT_ID
from failgraph.traces.spans import SpanRecord


class TraceOverview:
    """Collect a few numbers per trace while spans stream by.

    Attributes:
        starts: First start by trace id, in ns since the epoch, or 0 if no span has one.
        rollouts: Trace ids by rollout id.
    """

    def __init__(self) -> None:
        self.starts: dict[str, int] = {}
        self.rollouts: dict[str, frozenset[str]] = {}
        self._ends: dict[str, int] = {}

    def add_span(self, span: SpanRecord) -> None:
        """Add one span."""
        # A journal knows when a failure happened, not when a span ended.
        end = 0 if span.is_from_journal else span.end_unix_nano
        self.add_times([(span.trace_id, span.start_unix_nano, end)])
        rollout = span.attributes.get(ROLLOUT_ID)
        if isinstance(rollout, str):
            known = self.rollouts.get(rollout, frozenset())
            if span.trace_id not in known:
                self.rollouts[rollout] = known | {span.trace_id}

    def add_times(self, times: Iterable[SpanTimes]) -> None:
        """Add skipped spans: they have no failure and no rollout, and are not from a journal."""
        starts, ends = self.starts, self._ends
        last: str | bytes | None = None
        key = ""
        for trace_id, start, end in times:
            if trace_id != last:  # spans of one trace are often adjacent
                last = trace_id
                key = trace_id if isinstance(trace_id, str) else trace_id.hex()
                if key not in starts:
                    starts[key], ends[key] = start, end
                    continue
            first = starts[key]
            if start and (start < first or not first):
                starts[key] = start
            if end > ends[key]:
                ends[key] = end

    def durations(self) -> dict[str, int | None]:
        """Return the duration of each trace in ns, or None if no span has a start or an end."""
        ends = self._ends
        return {
            key: ends[key] - start if 0 < start <= ends[key] else None
            for key, start in self.starts.items()
        }
