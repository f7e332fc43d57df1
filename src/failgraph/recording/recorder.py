"""The recorder of a process: all failures, from all sources, pass through it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping

from opentelemetry.trace import Span, SpanContext, get_tracer_provider

from failgraph import diagnostics
from failgraph.context import Moment, current_moment
from failgraph.diagnostics import count, guard
from failgraph.failure.closing import close_map
from failgraph.failure.kinds import flag_unknown
from failgraph.failure.records import FailureEvent, FailureReport
from failgraph.recording import hop_log
from failgraph.recording.deferring import MAX_DEFERRED, DeferredFailure, DeferredQueue
from failgraph.recording.entry import Entry
from failgraph.recording.flushing import ExitFlush, flush_within
from failgraph.recording.hop import Hop, log_in_hops, open_hop_of
from failgraph.recording.hop_log import LoggedFailure
from failgraph.recording.observation import (
    NO_HINTS,
    Hints,
    Observation,
    Observations,
    observe,
    observe_escaping,
)
from failgraph.recording.placement import (
    NOT_RECORDED,
    Recorded,
    choose_destination,
    has_ended,
    is_in_trace_of,
)
from failgraph.recording.writer import Writer

Watcher = Callable[[FailureEvent], None]


class Recorder:
    """Takes failures and drives each through observation, placement and writing.

    Its methods may raise; callers keep errors away from the user's program.

    Attributes:
        writer: Writes failures and knows what was written.
        watchers: Called with each failure, as often as it is recorded.
    """

    def __init__(self) -> None:
        self.writer = Writer()
        self.watchers: tuple[Watcher, ...] = ()
        self._seq = itertools.count()
        self._deferred = DeferredQueue()
        self._exit_flush = ExitFlush()

    def record(
        self,
        failure: object,
        hints: Hints,
        span: Span | None,
        *,
        is_own: bool,
        is_urgent: bool = False,
    ) -> Recorded:
        """Write `failure` with its causes; see the function `record`.

        With `is_urgent` it is exported at once, on a span of its own.
        """
        now = current_moment()
        self.drain()
        observations = observe(failure, hints, now)
        if not observations.all:
            count("nowhere")
            return NOT_RECORDED
        if is_urgent:
            urgent = tuple(each._replace(is_urgent=True) for each in observations.all)
            observations = observations._replace(all=urgent)
        return self._write_all(observations, span, now, is_own=is_own)

    def record_escaping(
        self,
        error: BaseException,
        hop: Hop,
        span: Span | None = None,
        *,
        allow_foreign: bool = True,
    ) -> str | None:
        """Write the failures that leave `hop` with `error`.

        A failure that does not know where it was created belongs to `span`, or else to the current
        span. So does one that was created in another trace: an exception that is kept and raised
        again is in each trace that it fails.

        Args:
            error: What leaves the hop.
            hop: The hop.
            span: The span of the hop that is left.
            allow_foreign: False if the settings are not to make a failure of a foreign exception.

        Returns:
            The event id of the outermost failure, or None.
        """
        now = current_moment()._replace(hop=hop)
        if span is not None:
            now = now._replace(span=span)
        observations = observe_escaping(error, now, allow_foreign=allow_foreign)
        in_trace = tuple(
            each if is_in_trace_of(each.birth, hop) else each._replace(birth=now)
            for each in observations.all
        )
        self._write_all(observations._replace(all=in_trace), None, now, is_own=False)
        outermost_id = observations.outermost_id
        if outermost_id is not None and hop.trace_id is not None:
            # A foreign exception that was recorded before this hop began is known by its id only.
            event = self.writer.index.find(outermost_id, hop.trace_id)
            if event is not None:
                hop.log.add(LoggedFailure(event, now.time_unix_nano, next(self._seq)))
        return outermost_id

    def record_leaving(self, error: BaseException, span: Span, *, at_birth: bool) -> None:
        """Write the failures that leave `span` with `error`; see the function `record_leaving`."""
        now = current_moment()._replace(span=span)
        for observation in observe_escaping(error, now).all:
            stays_at_birth = at_birth or has_ended(observation.birth.span)
            destination = None if stays_at_birth else span
            self._write_all(Observations((observation,)), destination, now, is_own=False)

    def record_reply(self, report: FailureReport, places: Mapping[str, SpanContext]) -> None:
        """Take in a peer's report.

        Args:
            report: The report.
            places: The spans on which failures are recorded, by event id. A failure without one was
                only passed on by the peer, and is recorded here.
        """
        now = current_moment()
        self.drain()
        hop = open_hop_of(now)
        for event in report.events.values():
            place = places.get(event.event_id)
            if place is not None:
                self._note_remote(event, place, hop, now)
            elif hop is None or hop.accepts_copy():
                observation = Observation(event, now, is_remote=True)
                self._write_all(Observations((observation,)), None, now, is_own=False)
            else:
                count("copies_refused")
        count("reports_taken")

    def _note_remote(
        self, event: FailureEvent, place: SpanContext, hop: Hop | None, now: Moment
    ) -> None:
        """Take note of a failure that a peer has recorded."""
        if now.span is not None:
            trace_id = now.span.get_span_context().trace_id
            self.writer.index.set_remote_place(event, trace_id, place)
        if hop is not None:
            seq = next(self._seq)
            hop.log.add(LoggedFailure(event, now.time_unix_nano, seq, is_remote=True))

    @property
    def is_crowded(self) -> bool:
        """True if deferred failures should be recorded soon, before further ones are refused."""
        return len(self._deferred) >= MAX_DEFERRED // 2

    def is_idle(self) -> bool:
        """Return True if no failure is known or waits. Called whenever a span ends; cannot fail."""
        return not self.writer.index.traces and not self._deferred.may_have_work

    def defer(self, failure: object, hints: Hints, span: Span | None, *, is_own: bool) -> Recorded:
        """Queue `failure` for the next record or flush. Takes no lock."""
        deferred = DeferredFailure(failure, hints, current_moment(), span, is_own)
        if not self._deferred.put(deferred):
            return NOT_RECORDED
        self._exit_flush.register(flush_at_exit)
        event_id = getattr(failure, "event_id", None)
        return Recorded(event_id if isinstance(event_id, str) else None, "deferred", None)

    def defer_dropped(self, error: BaseException) -> None:
        """Queue the record of an exception that is being freed, not the exception itself."""
        now = current_moment()
        observations = observe_escaping(error, now)
        if observations.all:
            deferred = DeferredFailure(observations, NO_HINTS, now, None, is_own=False)
            self._deferred.put(deferred)
            self._exit_flush.register(flush_at_exit)

    def drain(self) -> None:
        """Record what was deferred."""
        if not self._deferred.may_have_work:
            return
        for deferred in self._deferred.drain():
            with guard("deferred record"):
                observations = deferred.failure
                if not isinstance(observations, Observations):
                    observations = observe(observations, deferred.hints, deferred.birth)
                self._write_all(observations, deferred.span, deferred.birth, is_own=deferred.is_own)

    # One line for each failure: log it in its hops, choose its span, write it.

    def _write_all(
        self, observations: Observations, span: Span | None, now: Moment, *, is_own: bool
    ) -> Recorded:
        """Write failures, causes first. Return where the outermost one went."""
        result = NOT_RECORDED
        for observation in observations.all:
            event = observation.event
            flag_unknown(event.failure_kind)
            is_outermost = event.event_id == observations.outermost_id
            recorded = Recorded(event.event_id, "nowhere", None)
            for watcher in self.watchers:
                with guard("calling a watcher"):
                    watcher(event)
            with guard("record"):
                recorded = self._write(observation, span, now, is_own=is_own and is_outermost)
            if is_outermost:
                result = recorded
        return result

    def _write(
        self, observation: Observation, given: Span | None, now: Moment, *, is_own: bool
    ) -> Recorded:
        event, birth = observation.event, observation.birth
        seq = next(self._seq)
        logged = LoggedFailure(event, birth.time_unix_nano, seq, observation.is_remote)
        open_hops = log_in_hops(logged, birth, now, is_own=is_own)
        span, hop = choose_destination(given, birth, now, open_hops)
        is_late = hop is not None and hop.is_report_final()
        context = span.get_span_context()
        entry = Entry(observation, span, context, seq, hop is not None, is_own, is_late)
        recorded = self.writer.write(entry)
        if recorded.span_context is not None and recorded.placement != "duplicate":
            self._exit_flush.register(flush_at_exit)
        return recorded

    def span_ended(self, context: SpanContext | None, *, is_local_root: bool) -> None:
        """Record what was deferred, and forget the span; with the local root, forget the trace."""
        self.drain()
        index = self.writer.index
        if context is not None and context.trace_id in index.traces:
            index.span_ended(context, is_local_root=is_local_root)

    def place_of(self, event_id: str, trace_id: int) -> SpanContext | None:
        """Return the span of a failure, in this trace if possible, or None if it is not known."""
        return self.writer.index.place_of(event_id, trace_id)

    def observed(self, event_id: str, trace_id: int) -> FailureEvent | None:
        """Return a failure of a trace that this process observed itself, or None."""
        return self.writer.index.observed(event_id, trace_id)

    def report_for_trace(self, trace_id: int) -> FailureReport:
        """Return what this process has recorded in a trace and still knows."""
        self.drain()
        events, failure_id = self.writer.index.failures_of(trace_id)
        own_id = failure_id if failure_id in events else None
        return FailureReport(events=close_map(events), failure_id=own_id)

    def flush(self, timeout_s: float, *, at_exit: bool = False) -> bool:
        """Record what was deferred and flush; see the functions `flush` and `flush_within`."""

        def pipelines() -> Iterator[object]:
            yield from self.writer.pipelines.processors()
            yield get_tracer_provider()  # last, since it may raise

        return flush_within(timeout_s, self.drain, pipelines, at_exit=at_exit)

    def flush_at_exit(self) -> None:
        """Flush if anything was written or deferred; once it has timed out, never again."""
        self._exit_flush.run(lambda timeout_s: self.flush(timeout_s, at_exit=True))


_recorder = Recorder()


def recorder() -> Recorder:
    """Return the recorder of this process."""
    return _recorder


def flush_at_exit() -> None:
    """Flush before the process ends, for at most 2 s; do nothing if nothing was recorded."""
    with guard("flush"):
        _recorder.flush_at_exit()


def _after_fork_in_child() -> None:
    global _recorder
    _recorder.writer.journal.close()
    diagnostics.reset_after_fork()
    hop_log.reset_after_fork()
    _recorder = Recorder()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
