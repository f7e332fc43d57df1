"""The one recorder of a process: every failure, from whichever source, is written here, once a trace."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Literal, NamedTuple

from opentelemetry.trace import INVALID_SPAN, Link, Span, SpanContext

from failgraph import placement
from failgraph.codec import Span as Place, encode_event
from failgraph.context import Birth, here
from failgraph.diagnostics import count, guard, reset_after_fork
from failgraph.exceptions import closed
from failgraph.hoplog import Logged
from failgraph.index import Index
from failgraph.kinds import flag_unknown
from failgraph.observation import Hints, Observation, Observations, escaping, observe
from failgraph.records import FailureBoundary, FailureEvent, FailureReport
from failgraph.settings import current

if TYPE_CHECKING:
    from failgraph.hops import Hop

Placement = Literal["span", "failure_span", "journal", "deferred", "duplicate", "nowhere"]

_MAX_DEFERRED = 1024


class Recorded(NamedTuple):
    """Where a failure is in the trace."""

    event_id: str | None
    """None where nothing could be recorded at all."""
    placement: Placement
    span_context: SpanContext | None
    """The span that holds it."""


class _Deferred(NamedTuple):
    failure: object
    hints: Hints
    birth: Birth
    own: bool


_NOTHING = Recorded(None, "nowhere", None)


class Recorder:
    """State and ways of the one recorder. Nothing here raises into the caller; see `record`."""

    def __init__(self) -> None:
        self.index = Index()
        self.pipelines = placement.Pipelines()
        self._seq = itertools.count()
        self._deferred: SimpleQueue[_Deferred] = SimpleQueue()
        self.watchers: tuple[Callable[[FailureEvent], None], ...] = ()

    def record(self, failure: object, hints: Hints, span: Span | None, *, own: bool) -> Recorded:
        """Write `failure` with its causes; see the function `record`."""
        birth = here()
        self.drain()
        return self._record(failure, hints, birth, span, own)

    def defer(self, failure: object, hints: Hints, span: Span | None, *, own: bool) -> Recorded:
        """Keep `failure` for the next record or flush: takes no lock, for signal handlers and finalizers."""
        birth = here()
        if span is not None:
            birth = birth._replace(span=span)
        if self._deferred.qsize() >= _MAX_DEFERRED:
            return _NOTHING
        self._deferred.put(_Deferred(failure, hints, birth, own))
        event_id = getattr(failure, "event_id", None)
        return Recorded(event_id if isinstance(event_id, str) else None, "deferred", None)

    def drain(self) -> None:
        """Record what was deferred."""
        while not self._deferred.empty():
            try:
                failure, hints, birth, own = self._deferred.get_nowait()
            except Empty:
                return
            with guard("deferred record"):
                self._record(failure, hints, birth, None, own)

    def record_escaping(self, error: BaseException, hop: Hop) -> str | None:
        """Write the failures that leave `hop` with `error`; the id of the outermost one, None where there is none."""
        now = here()._replace(hop=hop)
        found = escaping(error, now)
        self._write_all(found, None, now, own=False)
        return found.outermost_id

    def _record(self, failure: object, hints: Hints, now: Birth, span: Span | None, own: bool) -> Recorded:
        found = observe(failure, hints, now)
        if not found.all:
            count("nowhere")
        return self._write_all(found, span, now, own=own)

    def _write_all(self, found: Observations, span: Span | None, now: Birth, *, own: bool) -> Recorded:
        result = _NOTHING
        for observation in found.all:
            flag_unknown(observation.event.failure_kind)
            outermost = observation.event.event_id == found.outermost_id
            written = self._write(observation, span, now, own=own and outermost)
            if outermost:
                result = written
        return result

    def _write(self, observation: Observation, given: Span | None, now: Birth, *, own: bool) -> Recorded:
        event, birth = observation.event, observation.birth
        hop = next((hop for hop in (birth.hop, now.hop) if hop is not None and not hop.closed), birth.hop or now.hop)
        span = given or birth.span or (hop.span if hop is not None else None) or INVALID_SPAN
        if given is None and not span.is_recording() and now.span is not None and _same_trace(now.span, span):
            # Its own span has ended, but one of the same trace runs here.
            span = now.span
        seq = next(self._seq)
        for watcher in self.watchers:
            watcher(event)
        if hop is not None and not hop.closed:
            logged = Logged(event, birth.time_unix_nano, seq)
            hop.log.note(logged, own=own)
            if now.hop is not None and now.hop is not hop and now.hop.is_inside(hop):
                now.hop.log.note(logged, own=own)
        context = span.get_span_context()
        trace_id = context.trace_id
        if not context.is_valid:
            count("nowhere")
            return Recorded(event.event_id, "nowhere", None)
        if observation.written is not None and trace_id in observation.written:
            return Recorded(event.event_id, "duplicate", self.index.span_context_of(trace_id, event.event_id))
        known = self.index.reserve(trace_id, event)
        if known is not None:
            return Recorded(event.event_id, "duplicate", known.span_context)
        try:
            recorded = self._put(observation, span, seq, late=hop is not None and hop.closed)
        except Exception:
            self.index.release(trace_id, event.event_id)
            raise
        if observation.written is not None:
            observation.written.add(trace_id)
        if recorded.span_context is not None:
            self.index.place(trace_id, event, recorded.span_context, observer=not observation.remote)
        count(f"recorded_{recorded.placement}" if recorded.span_context else "nowhere")
        return recorded

    def _put(self, observation: Observation, span: Span, seq: int, *, late: bool) -> Recorded:
        event = observation.event
        context = span.get_span_context()
        cause = self.index.place_of(event.cause_id)
        attributes = encode_event(
            event,
            seq=seq,
            remote=observation.remote,
            late=late,
            cause=_place(cause) if cause is not None else None,
            limits=placement.span_limits(span).event,
        )
        time_unix_nano = max(observation.birth.time_unix_nano, placement.start_time(span))
        on_span = current().placement == "span" and placement.is_live(span) and placement.has_room(span)
        if on_span and self.index.take_slot(context):
            if cause is not None and self._links(context, cause, span) and self.index.take_link(context, cause):
                span.add_link(cause, placement.link_attributes(span, event.cause_id or ""))
            placement.emit(span, attributes, time_unix_nano)
            return Recorded(event.event_id, "span", context)
        links: tuple[Link, ...] = ()
        if cause is not None and current().links != "off" and not _same_span(cause, context):
            links = (Link(cause, placement.link_attributes(span, event.cause_id or "")),)
        own_span = placement.failure_span(span, time_unix_nano, links, self.pipelines)
        if own_span is None or placement.span_limits(own_span).events == 0:
            return Recorded(event.event_id, "nowhere", None)
        placement.emit(own_span, attributes, time_unix_nano)
        placement.end_failure_span(own_span, time_unix_nano)
        return Recorded(event.event_id, "failure_span", own_span.get_span_context())

    @staticmethod
    def _links(source: SpanContext, cause: SpanContext, span: Span) -> bool:
        """Whether a span links to that of a cause: never to itself or its parent, by default only across traces."""
        mode = current().links
        if mode == "off" or _same_span(source, cause) or not placement.has_link_room(span):
            return False
        parent = getattr(span, "parent", None)
        if isinstance(parent, SpanContext) and _same_span(parent, cause):
            return False
        return mode == "all" or source.trace_id != cause.trace_id


def _same_trace(one: Span, other: Span) -> bool:
    other_context = other.get_span_context()
    return not other_context.is_valid or one.get_span_context().trace_id == other_context.trace_id


def _same_span(one: SpanContext, other: SpanContext) -> bool:
    return (one.trace_id, one.span_id) == (other.trace_id, other.span_id)


def _place(context: SpanContext) -> Place:
    return Place(f"{context.trace_id:032x}", f"{context.span_id:016x}")


_recorder = Recorder()


def recorder() -> Recorder:
    """The recorder of this process."""
    return _recorder


def record(
    failure: object,
    *,
    boundary: FailureBoundary | str | None = None,
    kind: str | None = None,
    stage: str | None = None,
    reason: str | None = None,
    span: Span | None = None,
    own: bool = False,
    deferred: bool = False,
) -> Recorded:
    """Put a failure into the trace, once, where it was observed. Never raises, never blocks, never prints.

    `failure` is a `FailureEvent` (ours or Gym's own class), an `NgFailureEvent`, or any exception; an exception is
    recorded with its explicit causes, causes first, and the members of a group one by one. The keywords fill only what
    the failure does not say itself: a foreign exception needs a boundary (or the setting `FAILGRAPH_BOUNDARY`) and a
    kind (or one that its type stands for); its reason is by default its text.

    The event goes on `span`, else on the span where the exception was made, else on the current one, else on the
    hop's; where that does not record any more, on a failure span in the same trace. `own` makes it the own failure of
    the current hop unless another one escapes. `deferred` only queues it: for signal handlers and finalizers.

    The result says where it is; the id is that of the outermost failure.
    """
    with guard("record"):
        if current().enabled is False:
            return _NOTHING
        hints = Hints(boundary, kind, stage, reason)
        if deferred:
            return _recorder.defer(failure, hints, span, own=own)
        return _recorder.record(failure, hints, span, own=own)
    return _NOTHING


def report_for_trace(span_context: SpanContext) -> FailureReport:
    """What this process has recorded in the trace of `span_context` and still knows; empty where that is nothing.

    Its `failure_id` is the own failure of the outermost hop that ended here.
    """
    with guard("report_for_trace"):
        events, failure_id = _recorder.index.events(span_context.trace_id)
        return FailureReport(events=closed(events), failure_id=failure_id if failure_id in events else None)
    return FailureReport()


@contextmanager
def watching(watcher: Callable[[FailureEvent], None]) -> Iterator[None]:
    """Tell `watcher` of each failure that is recorded inside the block, as often as it is; for tests."""
    here = _recorder
    here.watchers = (*here.watchers, watcher)
    try:
        yield
    finally:
        here.watchers = tuple(each for each in here.watchers if each is not watcher)


def _in_child() -> None:
    global _recorder
    reset_after_fork()
    _recorder = Recorder()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
