"""The one recorder of a process: every failure, from whichever source, is written here, once a trace."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry.trace import Span, SpanContext, get_tracer_provider

from failgraph import diagnostics
from failgraph.context import Birth, here
from failgraph.diagnostics import count, guard
from failgraph.exceptions.cause_chain import carries_failure
from failgraph.exceptions.reports import closed
from failgraph.failure.kinds import flag_unknown
from failgraph.failure.records import FailureBoundary, FailureEvent, FailureReport
from failgraph.journal.files import Journal
from failgraph.recording import hop_log, sdk_spans
from failgraph.recording.deferring import MAX_WAITING, Deferred, Waiting
from failgraph.recording.flushing import at_exit, flush_within
from failgraph.recording.hop_log import Logged
from failgraph.recording.index import Index
from failgraph.recording.observation import (
    NO_HINTS,
    Hints,
    Observation,
    Observations,
    escaping,
    observe,
)
from failgraph.recording.writer import NOTHING, Recorded, choose_span, ended, note, of_trace, write
from failgraph.settings import current

if TYPE_CHECKING:
    from failgraph.recording.hops import Hop

_EXIT_S = 2.0
_MAX_WRITTEN = 64
"""Traces that an exception remembers to be written to; a cached one may pass through any number."""


class Recorder:
    """State and ways of the one recorder. The functions below keep its errors away from the caller."""

    def __init__(self) -> None:
        self.index = Index()
        self.pipelines = sdk_spans.Pipelines()
        self.watchers: tuple[Callable[[FailureEvent], None], ...] = ()
        self._seq = itertools.count()
        self._deferred = Waiting()
        self.journal = Journal()
        self._armed = False
        """Whether what was written is flushed when the process ends."""
        self._gave_up = False

    @property
    def crowded(self) -> bool:
        """Whether what was deferred should be recorded soon, lest some be refused."""
        return len(self._deferred) >= MAX_WAITING // 2

    def idle(self) -> bool:
        """Whether nothing that failed is known, nor waits; asked whenever a span ends, and cannot fail."""
        return not self.index.traces and not self._deferred.some

    def record(
        self, failure: object, hints: Hints, span: Span | None, *, own: bool, at_once: bool = False
    ) -> Recorded:
        """Write `failure` with its causes; see the function `record`. With `at_once` it waits for no span to end."""
        birth = here()
        self.drain()
        found = observe(failure, hints, birth)
        if at_once:
            found = found._replace(all=tuple(each._replace(at_once=True) for each in found.all))
        return self._write_all(found, span, birth, own=own) if found.all else self._nothing()

    def record_escaping(
        self, error: BaseException, hop: Hop, span: Span | None = None, *, foreign: bool = True
    ) -> str | None:
        """Write the failures that leave `hop` with `error`; the id of the outermost one, None where there is none.

        One that does not know where it was made is of `span`, by default of the current one; so is one that was made in
        another trace: an exception that is kept and raised again is in each trace that it fails. `foreign` is whether
        the settings may make a failure of an exception that is none.
        """
        now = here()._replace(hop=hop)
        now = now if span is None else now._replace(span=span)
        found = escaping(error, now, foreign=foreign)
        at_home = tuple(
            each if of_trace(each.birth, hop) else each._replace(birth=now) for each in found.all
        )
        self._write_all(found._replace(all=at_home), None, now, own=False)
        if found.outermost_id is not None and hop.trace_id is not None:
            # A foreign exception that was recorded before this hop began is known here by its id alone.
            event = self.index.find(found.outermost_id, hop.trace_id)
            if event is not None:
                hop.log.note(Logged(event, now.time_unix_nano, next(self._seq)))
        return found.outermost_id

    def record_leaving(self, error: BaseException, span: Span, *, at_birth: bool) -> None:
        """Write the failures that leave `span` with `error`; see the function `record_leaving`."""
        now = here()._replace(span=span)
        for observation in escaping(error, now).all:
            place = None if at_birth or ended(observation.birth.span) else span
            self._write_all(Observations((observation,)), place, now, own=False)

    def record_reply(self, report: FailureReport, places: Mapping[str, SpanContext]) -> None:
        """Take in what a peer's reply says: what it recorded has its place, what it only passed on is recorded here."""
        now = here()
        self.drain()
        context = now.span.get_span_context() if now.span is not None else None
        hop = now.hop.open() if now.hop is not None else None
        for event in report.events.values():
            place = places.get(event.event_id)
            if place is None:
                if hop is None or hop.takes_copy():
                    self._write_all(
                        Observations((Observation(event, now, remote=True),)), None, now, own=False
                    )
                else:
                    count("copies_refused")
                continue
            if context is not None:
                self.index.told(event, context.trace_id, place)
            if hop is not None:
                hop.log.note(Logged(event, now.time_unix_nano, next(self._seq), remote=True))
        count("reports_taken")

    def defer(self, failure: object, hints: Hints, span: Span | None, *, own: bool) -> Recorded:
        """Keep `failure` for the next record or flush: takes no lock, for signal handlers and finalizers."""
        if not self._deferred.put(Deferred(failure, hints, here(), span, own)):
            return NOTHING
        event_id = getattr(failure, "event_id", None)
        return Recorded(event_id if isinstance(event_id, str) else None, "deferred", None)

    def defer_dying(self, error: BaseException) -> None:
        """Keep what `error`, which nobody holds any more, says; not itself, with all that its frames hold."""
        self._deferred.put(Deferred(escaping(error, here()), NO_HINTS, here(), None, own=False))

    def drain(self) -> None:
        """Record what was deferred."""
        if not self._deferred.some:
            return
        for failure, hints, birth, span, own in self._deferred.taken():
            with guard("deferred record"):
                found = (
                    failure if isinstance(failure, Observations) else observe(failure, hints, birth)
                )
                self._write_all(found, span, birth, own=own)

    def _write_all(
        self, found: Observations, span: Span | None, now: Birth, *, own: bool
    ) -> Recorded:
        result = NOTHING
        for observation in found.all:
            event = observation.event
            flag_unknown(event.failure_kind)
            outermost = event.event_id == found.outermost_id
            written = Recorded(event.event_id, "nowhere", None)
            with guard("record"):
                for watcher in self.watchers:
                    watcher(event)
                written = self._write(observation, span, now, own=own and outermost)
            if outermost:
                result = written
        return result

    def _nothing(self) -> Recorded:
        count("nowhere")
        return NOTHING

    def _write(
        self, observation: Observation, given: Span | None, now: Birth, *, own: bool
    ) -> Recorded:
        event, birth = observation.event, observation.birth
        seq = next(self._seq)
        logged = Logged(event, birth.time_unix_nano, seq, observation.remote)
        open_hops = note(logged, birth, now, own=own)
        span, hop = choose_span(given, birth, now, open_hops)
        context = span.get_span_context()
        if observation.written is not None and context.trace_id in observation.written:
            return Recorded(
                event.event_id, "duplicate", self.index.span_of(context.trace_id, event.event_id)
            )
        if context.is_valid:
            known = self.index.claim(
                context.trace_id, event, remote=observation.remote, in_hop=hop is not None
            )
            if known is not None:
                return Recorded(event.event_id, "duplicate", known.span_context)
        late = hop is not None and hop.has_reported()
        recorded = write(
            self.index, self.pipelines, self.journal, observation, span, seq, own=own, late=late
        )
        if recorded.placement != "duplicate":
            count(
                "nowhere" if recorded.placement == "nowhere" else f"recorded_{recorded.placement}"
            )
        if recorded.span_context is None:
            return recorded
        if observation.written is not None:
            observation.written[context.trace_id] = None
            if len(observation.written) > _MAX_WRITTEN:
                del observation.written[next(iter(observation.written))]
        self.index.place(event, recorded.span_context, remote=observation.remote)
        if not span.is_recording():
            self.index.retire(context.trace_id)
        if not self._armed:
            self._armed = True
            at_exit(flush_at_exit)
        return recorded

    def flush(self, timeout_s: float) -> bool:
        """See the function `flush`."""
        return flush_within(
            timeout_s, self.drain, lambda: [get_tracer_provider(), *self.pipelines.known()]
        )

    def flush_at_exit(self) -> None:
        """Flush where anything was written; once it took too long, not again."""
        if (self._armed or self._deferred.some) and not self._gave_up:
            self._gave_up = not self.flush(_EXIT_S)


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
    the current hop unless another one escapes. `deferred` only queues it: for signal handlers and finalizers, where a
    plain call may wait for a lock of OpenTelemetry's SDK that the interrupted code holds.

    The result says where it is; the id is that of the outermost failure.
    """
    with guard("record"):
        if current().enabled is False:
            return NOTHING
        hints = Hints(boundary, kind, stage, reason)
        if deferred:
            return _recorder.defer(failure, hints, span, own=own)
        return _recorder.record(failure, hints, span, own=own)
    return NOTHING


def record_leaving(error: BaseException, span: Span, *, at_birth: bool = False) -> None:
    """Put the failures of the explicit chain of `error`, which leaves `span`, on `span`, causes first, each once.

    One made in a span that has ended goes on a failure span below that one, which it left first; with `at_birth` each
    goes where it was made.
    """
    with guard("recording what leaves a span"):
        if carries_failure(error) and current().enabled is not False:
            _recorder.record_leaving(error, span, at_birth=at_birth)


def report_for_trace(span_context: SpanContext) -> FailureReport:
    """What this process has recorded in the trace of `span_context` and still knows; empty where that is nothing.

    Its `failure_id` is the own failure of the outermost hop of the trace that ended here.
    """
    with guard("report_for_trace"):
        _recorder.drain()
        events, failure_id = _recorder.index.events(span_context.trace_id)
        return FailureReport(
            events=closed(events), failure_id=failure_id if failure_id in events else None
        )
    return FailureReport()


def flush(timeout_s: float = 2.0) -> bool:
    """Record what was deferred and flush the span processors; whether all of that was done within `timeout_s` seconds.

    Reaches the global provider, and each provider whose spans failures were written for.
    """
    return _recorder.flush(timeout_s)


def flush_at_exit() -> None:
    """Flush what this process has recorded before it ends, in 2 s at most; where that is nothing, do nothing."""
    with guard("flush"):
        _recorder.flush_at_exit()


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
    _recorder.journal.close()
    diagnostics.reset_after_fork()
    hop_log.reset_after_fork()
    _recorder = Recorder()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
