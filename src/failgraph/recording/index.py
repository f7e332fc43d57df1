"""What this process has written, by trace: bounded, so that a failure is written once and an effect finds its cause.

Empty until something fails, but for a count of open hops. The least recently used trace goes first, counted.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple, TypeVar

from opentelemetry.trace import SpanContext

from failgraph.diagnostics import count
from failgraph.failure.records import FailureEvent
from failgraph.recording.hop_log import HopLog

MAX_TRACES = 1024
MAX_EVENTS = 4096
"""Failures kept a trace."""
MAX_EVENTS_IN_ALL = 65536
MAX_SPANS = 1024
"""Spans a trace of which is known what failgraph has put on them."""
MAX_PLACES = 16384
"""Failures of which the span is remembered, across traces."""
MAX_EVENTS_A_SPAN = 64
"""Failure events written on one span before failure spans take over: past its limit a span drops the oldest."""
MAX_LINKS_A_SPAN = 16


class Written(NamedTuple):
    """A failure of a trace, and the span that holds it (None while it is being written)."""

    event: FailureEvent
    remote: bool
    span_context: SpanContext | None


class _Span:
    """What failgraph has put on one span."""

    __slots__ = ("events", "links", "log")

    def __init__(self) -> None:
        self.events = 0
        self.links: set[tuple[int, int]] = set()
        self.log: HopLog | None = None


class _Trace:
    __slots__ = ("events", "failure_id", "hopped", "spans")

    def __init__(self) -> None:
        self.events: dict[str, Written] = {}
        self.spans: dict[int, _Span] = {}
        self.hopped = False
        self.failure_id: str | None = None


_Kept = TypeVar("_Kept", "_Span", "Written")


def _make_room(kept: dict[str, _Kept] | dict[int, _Kept], most: int) -> int:
    """Let the oldest go where one more would be too many; how many went."""
    if len(kept) < most:
        return 0
    del kept[next(iter(kept))]  # type: ignore[arg-type]
    return 1


class Index:
    """All traces of this process in which something failed."""

    def __init__(self) -> None:
        # Reentrant, and held for dict operations only: a signal handler may record.
        self._lock = threading.RLock()
        self.traces: OrderedDict[int, _Trace] = OrderedDict()
        """By id; whether one is in it may be asked without the lock."""
        self._places: OrderedDict[str, SpanContext] = OrderedDict()
        self._open: dict[int, int] = {}
        self._events = 0

    def __len__(self) -> int:
        """How many traces have an entry."""
        return len(self.traces)

    def _entry(self, trace_id: int) -> _Trace:
        entry = self.traces.get(trace_id)
        if entry is None:
            entry = self.traces[trace_id] = _Trace()
        else:
            self.traces.move_to_end(trace_id)
        while len(self.traces) > MAX_TRACES or (
            self._events > MAX_EVENTS_IN_ALL and len(self.traces) > 1
        ):
            _, oldest = self.traces.popitem(last=False)
            self._events -= len(oldest.events)
            count("traces_evicted")
        return entry

    def _span(self, context: SpanContext) -> _Span:
        spans = self._entry(context.trace_id).spans
        span = spans.get(context.span_id)
        if span is None:
            _make_room(spans, MAX_SPANS)
            span = spans[context.span_id] = _Span()
        return span

    def claim(
        self, trace_id: int, event: FailureEvent, *, remote: bool, in_hop: bool
    ) -> Written | None:
        """Claim the writing of `event` in this trace; what was written before, or None where it is to be written.

        The observer's own takes the place of a peer's copy.
        """
        with self._lock:
            entry = self._entry(trace_id)
            entry.hopped = entry.hopped or in_hop
            known = entry.events.get(event.event_id)
            if known is not None and (remote or not known.remote):
                return known
            if known is None:
                gone = _make_room(entry.events, MAX_EVENTS)
                if gone:
                    count("events_evicted")
                self._events += 1 - gone
            entry.events[event.event_id] = Written(event, remote, None)
            return None

    def release(self, trace_id: int, event_id: str) -> None:
        """Give a claim back: nothing was written, and it may be tried again."""
        with self._lock:
            entry = self.traces.get(trace_id)
            if entry is not None and entry.events.pop(event_id, None) is not None:
                self._events -= 1
                if not entry.events:
                    del self.traces[trace_id]

    def place(self, event: FailureEvent, span_context: SpanContext, *, remote: bool) -> None:
        """Remember the span that holds `event`; as the place of the failure itself only from its observer."""
        with self._lock:
            events = self._entry(span_context.trace_id).events
            if event.event_id in events:
                events[event.event_id] = Written(event, remote, span_context)
            if not remote:
                self._remember(event.event_id, span_context)

    def told(self, event: FailureEvent, trace_id: int, span_context: SpanContext) -> None:
        """A peer has recorded `event` on that span: in this trace it is not written again, and effects find it.

        What this process observed itself, or was told before, stands.
        """
        with self._lock:
            if self.claim(trace_id, event, remote=True, in_hop=True) is None:
                self._entry(trace_id).events[event.event_id] = Written(event, True, span_context)
            if event.event_id not in self._places:
                self._remember(event.event_id, span_context)

    def _remember(self, event_id: str, span_context: SpanContext) -> None:
        self._places[event_id] = span_context
        self._places.move_to_end(event_id)
        if len(self._places) > MAX_PLACES:
            self._places.popitem(last=False)
            count("places_evicted")

    def place_of(self, event_id: str | None, trace_id: int) -> SpanContext | None:
        """The span of a failure that this process observed or was told of, in this trace before any other."""
        if event_id is None:
            return None
        with self._lock:
            written = self._written(trace_id, event_id)
            if written is not None and not written.remote and written.span_context is not None:
                return written.span_context
            return self._places.get(event_id)

    def _written(self, trace_id: int, event_id: str) -> Written | None:
        entry = self.traces.get(trace_id)
        return entry.events.get(event_id) if entry is not None else None

    def find(self, event_id: str, trace_id: int) -> FailureEvent | None:
        """A failure that this process has written, in this trace or in another that it still knows."""
        with self._lock:
            place = self._places.get(event_id)
            for here in (trace_id, place.trace_id if place is not None else 0):
                written = self._written(here, event_id)
                if written is not None:
                    return written.event
            return None

    def observed(self, event_id: str, trace_id: int) -> FailureEvent | None:
        """A failure of this trace that this process observed itself; None for one that it was told of."""
        with self._lock:
            written = self._written(trace_id, event_id)
            return written.event if written is not None and not written.remote else None

    def span_of(self, trace_id: int, event_id: str) -> SpanContext | None:
        """The span that holds a failure in this trace, where it is still known."""
        with self._lock:
            written = self._written(trace_id, event_id)
            return written.span_context if written is not None else None

    def retire(self, trace_id: int) -> None:
        """A failure came after its span had ended: where no hop is open, the trace is the first to go for another."""
        with self._lock:
            if trace_id in self.traces and trace_id not in self._open:
                self.traces.move_to_end(trace_id, last=False)

    def take_slot(self, span_context: SpanContext) -> bool:
        """Take one of the places that failgraph allows itself on a span."""
        with self._lock:
            span = self._span(span_context)
            if span.events >= MAX_EVENTS_A_SPAN:
                return False
            span.events += 1
            return True

    def take_link(self, source: SpanContext, target: SpanContext) -> bool:
        """Take the link from one span to another: once, and not past the most that a span gets."""
        with self._lock:
            links = self._span(source).links
            key = (target.trace_id, target.span_id)
            if key in links or len(links) >= MAX_LINKS_A_SPAN:
                return False
            links.add(key)
            return True

    def opened(self, trace_id: int) -> None:
        """A hop opens in this trace."""
        with self._lock:
            self._open[trace_id] = self._open.get(trace_id, 0) + 1

    def closed(self, trace_id: int, *, over: bool) -> None:
        """A hop of this trace closes; where the trace is `over` here and no other is open, the entry is freed."""
        with self._lock:
            left = self._open.get(trace_id, 1) - 1
            if left:
                self._open[trace_id] = left
            else:
                self._open.pop(trace_id, None)
            entry = self.traces.get(trace_id)
            if entry is not None:
                entry.hopped = True
                if over and not left:
                    self._free(trace_id)

    def span_ended(self, span_context: SpanContext, *, local_root: bool) -> None:
        """Forget what is on the span; with the last one of the trace in this process, free the entry of its hops."""
        trace_id = span_context.trace_id
        with self._lock:
            entry = self.traces.get(trace_id)
            if entry is None:
                return
            entry.spans.pop(span_context.span_id, None)
            if local_root and entry.hopped and trace_id not in self._open:
                self._free(trace_id)

    def _free(self, trace_id: int) -> None:
        self._events -= len(self.traces.pop(trace_id).events)

    def log_before(self, span_context: SpanContext, log: HopLog) -> HopLog | None:
        """The log of the hop that closed on this span before, if any; `log` takes its place."""
        with self._lock:
            span = self._span(span_context)
            before, span.log = span.log, log
            return before

    def own(self, trace_id: int, failure_id: str | None) -> None:
        """Name the own failure of the trace's outermost hop here."""
        with self._lock:
            if trace_id in self.traces:
                self.traces[trace_id].failure_id = failure_id

    def events(self, trace_id: int) -> tuple[dict[str, FailureEvent], str | None]:
        """What was written in a trace, in order, and its own failure."""
        with self._lock:
            entry = self.traces.get(trace_id)
            if entry is None:
                return {}, None
            return {key: written.event for key, written in entry.events.items()}, entry.failure_id
