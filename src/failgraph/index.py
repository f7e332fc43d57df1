"""What this process has written, by trace: bounded, so that a failure is written once and an effect finds its cause.

Empty until something fails. The least recently used trace goes first; every entry that goes is counted.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

from opentelemetry.trace import SpanContext

from failgraph.diagnostics import count
from failgraph.hoplog import HopLog
from failgraph.records import FailureEvent

MAX_TRACES = 1024
MAX_EVENTS = 4096
"""Failures kept a trace."""
MAX_PLACES = 16384
"""Failures of which the span is remembered, across traces."""
MAX_EVENTS_A_SPAN = 64
"""Failure events written on one span before failure spans take over: past its limit a span drops the oldest."""
MAX_LINKS_A_SPAN = 16


class Written(NamedTuple):
    """A failure of a trace, and the span that holds it (None where it could not be written)."""

    event: FailureEvent
    span_context: SpanContext | None


class _Trace:
    __slots__ = ("events", "failure_id", "hops", "links", "logs", "slots")

    def __init__(self) -> None:
        self.events: dict[str, Written] = {}
        self.slots: dict[int, int] = {}
        self.links: dict[int, set[tuple[int, int]]] = {}
        self.hops: set[int] = set()
        self.logs: dict[int, HopLog] = {}
        self.failure_id: str | None = None


class Index:
    """All traces of this process in which something failed."""

    def __init__(self) -> None:
        # Reentrant, and held for dict operations only: a signal handler may record.
        self._lock = threading.RLock()
        self._traces: OrderedDict[int, _Trace] = OrderedDict()
        self._places: OrderedDict[str, SpanContext] = OrderedDict()
        self._open: dict[int, int] = {}

    def __len__(self) -> int:
        """How many traces have an entry."""
        return len(self._traces)

    def _entry(self, trace_id: int) -> _Trace:
        entry = self._traces.get(trace_id)
        if entry is None:
            entry = self._traces[trace_id] = _Trace()
            if len(self._traces) > MAX_TRACES:
                self._traces.popitem(last=False)
                count("traces_evicted")
        else:
            self._traces.move_to_end(trace_id)
        return entry

    def reserve(self, trace_id: int, event: FailureEvent) -> Written | None:
        """Claim the writing of `event` in this trace; what was claimed before, or None where the claim is new."""
        with self._lock:
            events = self._entry(trace_id).events
            known = events.get(event.event_id)
            if known is None:
                if len(events) >= MAX_EVENTS:
                    del events[next(iter(events))]
                    count("events_evicted")
                events[event.event_id] = Written(event, None)
            return known

    def release(self, trace_id: int, event_id: str) -> None:
        """Give a claim back: the writing failed, and may be tried again."""
        with self._lock:
            if trace_id in self._traces:
                self._traces[trace_id].events.pop(event_id, None)

    def place(self, trace_id: int, event: FailureEvent, span_context: SpanContext, *, observer: bool) -> None:
        """Remember the span that holds `event`; as the place of the failure itself only from its observer."""
        with self._lock:
            self._entry(trace_id).events[event.event_id] = Written(event, span_context)
            if observer:
                self._places[event.event_id] = span_context
                self._places.move_to_end(event.event_id)
                if len(self._places) > MAX_PLACES:
                    self._places.popitem(last=False)
                    count("places_evicted")

    def place_of(self, event_id: str | None) -> SpanContext | None:
        """The span of a failure that this process observed."""
        return None if event_id is None else self._places.get(event_id)

    def take_slot(self, span_context: SpanContext) -> bool:
        """Take one of the places that failgraph allows itself on a span."""
        with self._lock:
            slots = self._entry(span_context.trace_id).slots
            taken = slots.get(span_context.span_id, 0)
            if taken >= MAX_EVENTS_A_SPAN:
                return False
            slots[span_context.span_id] = taken + 1
            return True

    def take_link(self, source: SpanContext, target: SpanContext) -> bool:
        """Take the link from one span to another: once, and not past the most that a span gets."""
        with self._lock:
            links = self._entry(source.trace_id).links.setdefault(source.span_id, set())
            key = (target.trace_id, target.span_id)
            if key in links or len(links) >= MAX_LINKS_A_SPAN:
                return False
            links.add(key)
            return True

    def opened(self, trace_id: int) -> None:
        """A hop opens in this trace."""
        with self._lock:
            self._open[trace_id] = self._open.get(trace_id, 0) + 1

    def closed(self, span_context: SpanContext) -> bool:
        """The hop of this span closes; whether it was the last open one of its trace.

        The trace's entry, where there is one, is kept until the span has ended too.
        """
        with self._lock:
            left = self._open.get(span_context.trace_id, 1) - 1
            if left:
                self._open[span_context.trace_id] = left
            else:
                self._open.pop(span_context.trace_id, None)
            entry = self._traces.get(span_context.trace_id)
            if entry is not None:
                entry.hops.add(span_context.span_id)
            return not left

    def span_ended(self, trace_id: int, span_id: int) -> None:
        """Free the trace's entry where this was the last of its hops."""
        with self._lock:
            entry = self._traces.get(trace_id)
            if entry is None or span_id not in entry.hops:
                return
            entry.hops.discard(span_id)
            if not entry.hops and trace_id not in self._open:
                del self._traces[trace_id]

    def log_of(self, span_context: SpanContext, log: HopLog) -> HopLog | None:
        """The log of the hop that ended on this span before, if any; `log` takes its place."""
        with self._lock:
            logs = self._entry(span_context.trace_id).logs
            before = logs.get(span_context.span_id)
            logs[span_context.span_id] = log
            return before

    def own(self, trace_id: int, failure_id: str | None) -> None:
        """Name the own failure of the trace's outermost hop so far."""
        with self._lock:
            if trace_id in self._traces:
                self._traces[trace_id].failure_id = failure_id

    def events(self, trace_id: int) -> tuple[dict[str, FailureEvent], str | None]:
        """What was written in a trace, in order, and its own failure."""
        with self._lock:
            entry = self._traces.get(trace_id)
            if entry is None:
                return {}, None
            return {key: written.event for key, written in entry.events.items()}, entry.failure_id

    def span_context_of(self, trace_id: int, event_id: str) -> SpanContext | None:
        """The span that holds a failure in this trace."""
        entry = self._traces.get(trace_id)
        written = entry.events.get(event_id) if entry is not None else None
        return written.span_context if written is not None else None
