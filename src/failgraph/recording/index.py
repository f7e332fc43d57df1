"""What this process has written, by trace.

With it a failure is written once, and an effect finds the span of its cause.

Bounded. It is empty until something fails, except for a count of open hops. The least recently used
trace is dropped first, and counted.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TypeVar

from opentelemetry.trace import SpanContext

from failgraph.diagnostics import count
from failgraph.failure.records import FailureEvent
from failgraph.recording.hop_log import HopLog
from failgraph.recording.trace_entry import (
    SpanEntry,
    TraceEntry,
    TraceFailures,
    WrittenFailure,
)

MAX_TRACES = 1024
"""Traces that are kept."""
MAX_EVENTS = 4096
"""Failures that are kept of one trace."""
MAX_EVENTS_IN_ALL = 65536
"""Failures that are kept of all traces."""
MAX_SPANS = 1024
"""Spans of one trace for which is kept what failgraph put on them."""
MAX_PLACES = 16384
"""Failures whose span is remembered, of all traces."""
MAX_EVENTS_A_SPAN = 64
"""Failure events on one span; further ones go on failure spans.

Past the provider's limit a span drops its oldest event, which is the root cause.
"""
MAX_LINKS_A_SPAN = 16
"""Links that failgraph adds to one span."""

_Entry = TypeVar("_Entry", "SpanEntry", "WrittenFailure")


def _drop_oldest(entries: dict[str, _Entry] | dict[int, _Entry], limit: int) -> int:
    """Drop the oldest entry if one more would exceed `limit`. Return the number dropped."""
    if len(entries) < limit:
        return 0
    del entries[next(iter(entries))]  # type: ignore[arg-type]
    return 1


class Index:
    """The traces of this process in which something failed.

    Attributes:
        traces: The entries by trace id; membership may be asked without the lock.
    """

    def __init__(self) -> None:
        # Reentrant, and held for dict operations only: a signal handler may record.
        self._lock = threading.RLock()
        self.traces: OrderedDict[int, TraceEntry] = OrderedDict()
        self._places: OrderedDict[str, SpanContext] = OrderedDict()
        self._open_hops: dict[int, int] = {}  # open hops by trace id
        self._event_count = 0

    def __len__(self) -> int:
        """Return the number of traces that have an entry."""
        return len(self.traces)

    # --- failures

    def claim(
        self, trace_id: int, event: FailureEvent, *, is_remote: bool, in_hop: bool
    ) -> WrittenFailure | None:
        """Claim the right to write `event` to a trace.

        The observer's own record takes the place of a copy from a peer.

        Returns:
            What was written before, or None if `event` is to be written.
        """
        with self._lock:
            entry = self._entry(trace_id)
            entry.had_hop = entry.had_hop or in_hop
            known = entry.events.get(event.event_id)
            if known is not None and (is_remote or not known.is_remote):
                return known
            if known is None:
                dropped = _drop_oldest(entry.events, MAX_EVENTS)
                if dropped:
                    count("events_evicted")
                self._event_count += 1 - dropped
                if self._event_count > MAX_EVENTS_IN_ALL:
                    self._evict_traces()
            entry.events[event.event_id] = WrittenFailure(event, is_remote, None, known)
            return None

    def release(self, trace_id: int, event_id: str) -> None:
        """Give a claim back: nothing was written, and what it replaced stands again."""
        with self._lock:
            entry, claimed = self.traces.get(trace_id), self._written(trace_id, event_id)
            if entry is None or claimed is None:
                return
            if claimed.replaced is not None:
                entry.events[event_id] = claimed.replaced
                return
            del entry.events[event_id]
            self._event_count -= 1
            if not entry.events and not entry.spans:
                del self.traces[trace_id]

    def set_place(self, event: FailureEvent, span_context: SpanContext, *, is_remote: bool) -> None:
        """Remember the span that holds `event`; a copy does not become the place of the failure."""
        with self._lock:
            events = self._entry(span_context.trace_id).events
            if event.event_id in events:
                events[event.event_id] = WrittenFailure(event, is_remote, span_context)
            if not is_remote:
                self._remember_place(event.event_id, span_context)

    def set_remote_place(
        self, event: FailureEvent, trace_id: int, span_context: SpanContext
    ) -> None:
        """Take note that a peer has recorded `event` on a span.

        It is not written to this trace again, and effects find it. What this process observed
        itself, or learned before, stands.
        """
        with self._lock:
            if self.claim(trace_id, event, is_remote=True, in_hop=True) is None:
                self._entry(trace_id).events[event.event_id] = WrittenFailure(
                    event, True, span_context
                )
            if event.event_id not in self._places:
                self._remember_place(event.event_id, span_context)

    def place_of(self, event_id: str | None, trace_id: int) -> SpanContext | None:
        """Return the span of a failure, in this trace if possible, or None if it is not known."""
        if event_id is None:
            return None
        with self._lock:
            written = self._written(trace_id, event_id)
            if written is not None and not written.is_remote and written.span_context is not None:
                return written.span_context
            return self._places.get(event_id)

    def find(self, event_id: str, trace_id: int) -> FailureEvent | None:
        """Return a failure that this process has written, in this trace or another known one."""
        with self._lock:
            place = self._places.get(event_id)
            for candidate in (trace_id, 0 if place is None else place.trace_id):
                written = self._written(candidate, event_id)
                if written is not None:
                    return written.event
            return None

    def observed(self, event_id: str, trace_id: int) -> FailureEvent | None:
        """Return a failure of this trace that this process observed itself, or None."""
        with self._lock:
            written = self._written(trace_id, event_id)
            return None if written is None or written.is_remote else written.event

    def span_of(self, trace_id: int, event_id: str) -> SpanContext | None:
        """Return the span that holds a failure in this trace, or None if it is not known."""
        with self._lock:
            written = self._written(trace_id, event_id)
            return None if written is None else written.span_context

    def failures_of(self, trace_id: int) -> TraceFailures:
        """Return what was written to a trace; empty if nothing is known of it."""
        with self._lock:
            entry = self.traces.get(trace_id)
            if entry is None:
                return TraceFailures({}, None)
            events = {key: written.event for key, written in entry.events.items()}
            return TraceFailures(events, entry.failure_id)

    # --- spans

    def take_event_slot(self, span_context: SpanContext) -> bool:
        """Take one of the event slots of a span. Return False if none is left."""
        with self._lock:
            span = self._span_entry(span_context)
            if span.events >= MAX_EVENTS_A_SPAN:
                return False
            span.events += 1
            return True

    def take_link(self, source: SpanContext, target: SpanContext) -> bool:
        """Take a link between two spans. Return False if it exists or the limit is reached."""
        with self._lock:
            links = self._span_entry(source).links
            key = (target.trace_id, target.span_id)
            if key in links or len(links) >= MAX_LINKS_A_SPAN:
                return False
            links.add(key)
            return True

    def swap_log(self, span_context: SpanContext, log: HopLog) -> HopLog | None:
        """Make `log` that of the hop on a span. Return that of an earlier hop on it, or None."""
        with self._lock:
            span = self._span_entry(span_context)
            before, span.log = span.log, log
            return before

    def span_ended(self, span_context: SpanContext, *, is_local_root: bool) -> None:
        """Forget a span; if it is the local root of a trace without open hops, forget the trace."""
        trace_id = span_context.trace_id
        with self._lock:
            entry = self.traces.get(trace_id)
            if entry is None:
                return
            entry.spans.pop(span_context.span_id, None)
            if is_local_root and entry.had_hop and trace_id not in self._open_hops:
                self._forget(trace_id)

    # --- hops and traces

    def hop_opened(self, trace_id: int) -> None:
        """Count an open hop of a trace."""
        with self._lock:
            self._open_hops[trace_id] = self._open_hops.get(trace_id, 0) + 1

    def hop_closed(self, trace_id: int, *, is_over: bool) -> None:
        """Count a closed hop; forget the trace if it `is_over` here and has no other open hop."""
        with self._lock:
            left = self._open_hops.get(trace_id, 1) - 1
            if left:
                self._open_hops[trace_id] = left
            else:
                self._open_hops.pop(trace_id, None)
            entry = self.traces.get(trace_id)
            if entry is None:
                return
            entry.had_hop = True
            if is_over and not left:
                self._forget(trace_id)

    def retire(self, trace_id: int) -> None:
        """Make a trace the next to be dropped: a failure came after its span had ended."""
        with self._lock:
            if trace_id in self.traces and trace_id not in self._open_hops:
                self.traces.move_to_end(trace_id, last=False)

    def set_own_failure(self, trace_id: int, failure_id: str | None) -> None:
        """Name the own failure of the outermost hop of a trace in this process."""
        with self._lock:
            if trace_id in self.traces:
                self.traces[trace_id].failure_id = failure_id

    # --- helpers; the lock is held

    def _entry(self, trace_id: int) -> TraceEntry:
        entry = self.traces.get(trace_id)
        if entry is not None:
            self.traces.move_to_end(trace_id)
            return entry
        entry = self.traces[trace_id] = TraceEntry()
        if len(self.traces) > MAX_TRACES:
            self._evict_traces()
        return entry

    def _evict_traces(self) -> None:
        """Drop the least recently used traces until the limits hold; the newest one stays."""
        while len(self.traces) > 1 and (
            len(self.traces) > MAX_TRACES or self._event_count > MAX_EVENTS_IN_ALL
        ):
            _, oldest = self.traces.popitem(last=False)
            self._event_count -= len(oldest.events)
            count("traces_evicted")

    def _span_entry(self, context: SpanContext) -> SpanEntry:
        spans = self._entry(context.trace_id).spans
        span = spans.get(context.span_id)
        if span is None:
            _drop_oldest(spans, MAX_SPANS)
            span = spans[context.span_id] = SpanEntry()
        return span

    def _written(self, trace_id: int, event_id: str) -> WrittenFailure | None:
        entry = self.traces.get(trace_id)
        return None if entry is None else entry.events.get(event_id)

    def _remember_place(self, event_id: str, span_context: SpanContext) -> None:
        self._places[event_id] = span_context
        self._places.move_to_end(event_id)
        if len(self._places) > MAX_PLACES:
            self._places.popitem(last=False)
            count("places_evicted")

    def _forget(self, trace_id: int) -> None:
        self._event_count -= len(self.traces.pop(trace_id).events)
