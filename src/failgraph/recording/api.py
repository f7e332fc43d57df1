"""The functions by which programs record failures. None of them raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.trace import Span, SpanContext

from failgraph.diagnostics import guard
from failgraph.exceptions.cause_chain import carries_failure
from failgraph.failure.records import FailureBoundary, FailureEvent, FailureReport
from failgraph.recording.observation import Hints
from failgraph.recording.placement import NOT_RECORDED, Recorded
from failgraph.recording.recorder import Watcher, recorder
from failgraph.settings import current


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
    """Put a failure into the trace, once, where it was observed. Never raises, blocks or prints.

    The event goes on `span`, else on the span in which the exception was created, else on the
    current one, else on that of the hop. If the span of its creation is not sampled, the current
    one of the same trace takes its place. If the span no longer records, the event goes on a
    failure span in the same trace. An exception is recorded with its explicit causes, causes first,
    and a group member by member.

    Args:
        failure: A `FailureEvent` (ours or Gym's own), an `NgFailureEvent`, or any other exception.
        boundary: Who observed it, if the failure does not say. A foreign exception needs one, here
            or by the setting `FAILGRAPH_BOUNDARY`.
        kind: What went wrong, if the failure does not say and its type does not imply it.
        stage: The stage of the rollout, if the failure does not say.
        reason: Free text, if the failure does not say; the text of an exception by default.
        span: The span to write it on.
        own: Make it the own failure of the current hop, unless another one escapes.
        deferred: Only queue it. For signal handlers and finalizers, where the interrupted code may
            hold a lock of OpenTelemetry's SDK.

    Returns:
        The event id of the outermost failure, and where that went.
    """
    with guard("record"):
        if current().enabled is False:
            return NOT_RECORDED
        hints = Hints(boundary, kind, stage, reason)
        if deferred:
            return recorder().defer(failure, hints, span, is_own=own)
        return recorder().record(failure, hints, span, is_own=own)
    return NOT_RECORDED


def record_leaving(error: BaseException, span: Span, *, at_birth: bool = False) -> None:
    """Write the failures that leave `span` with `error`, causes first, each once.

    These are the failures of its explicit chain. They go on `span`; one that was created in a span
    that has ended goes on a failure span below that one.

    Args:
        error: What leaves the span.
        span: The span.
        at_birth: Write each failure where it was created instead.
    """
    with guard("recording what leaves a span"):
        if carries_failure(error) and current().enabled is not False:
            recorder().record_leaving(error, span, at_birth=at_birth)


def report_for_trace(span_context: SpanContext) -> FailureReport:
    """Return what this process has recorded in the trace of `span_context` and still knows.

    `failure_id` is the own failure of the outermost hop of the trace that ended here. The report is
    empty if nothing is known.
    """
    with guard("report_for_trace"):
        return recorder().report_for_trace(span_context.trace_id)
    return FailureReport()


def flush(timeout_s: float = 2.0) -> bool:
    """Record what was deferred and flush the span processors.

    Reaches the global provider, and each provider for whose spans failures were written.

    Args:
        timeout_s: The time limit, in seconds.

    Returns:
        True if all of it was done in time.
    """
    return recorder().flush(timeout_s)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Call `watcher` with each failure that is recorded inside the block; for tests."""
    watched = recorder()

    def watch(event: FailureEvent) -> None:
        watcher(event)

    # A function of its own: the same watcher may be there from an outer block.
    watched.watchers = (*watched.watchers, watch)
    try:
        yield
    finally:
        watched.watchers = tuple(each for each in watched.watchers if each is not watch)
