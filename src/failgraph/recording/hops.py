"""Open and close hops, for programs, the server layer and the Gym hooks."""

from __future__ import annotations

from types import TracebackType

from opentelemetry import trace
from opentelemetry.trace import Span

from failgraph.context import current_hop
from failgraph.diagnostics import guard
from failgraph.exceptions.cause_chain import is_cancellation, recorded_id
from failgraph.failure.records import FailureReport
from failgraph.recording import sdk_spans
from failgraph.recording.hop import Hop, running_hop
from failgraph.recording.hop_report import write_report
from failgraph.recording.recorder import recorder
from failgraph.settings import current


def open_hop(span: Span | None, outer: Hop | None) -> Hop:
    """Return a new hop on `span`, or on the current span, inside of `outer`."""
    opened = Hop(outer)
    span = span or trace.get_current_span()
    if span.get_span_context().is_valid:
        adopt_span(opened, span)
    return opened


def adopt_span(hop: Hop, span: Span) -> None:
    """Make `span` the span of `hop`."""
    if hop.trace_id is not None:
        recorder().writer.index.hop_closed(hop.trace_id, is_over=False)
    hop.span = span
    trace_id = span.get_span_context().trace_id
    hop.outermost = all(outer.trace_id != trace_id for outer in hop.enclosing())
    recorder().writer.index.hop_opened(trace_id)


def record_escape(hop: Hop, error: BaseException) -> bool:
    """Record what leaves `hop` with `error`. Return True if the hop's own failure is part of it."""
    outermost_id = recorder().record_escaping(error, hop, hop.escape_span)
    # A cancellation comes from the caller; only a failure that led to it is the hop's own.
    if is_cancellation(error) and outermost_id == recorded_id(error):
        return False
    return hop.log.claim(outermost_id)


def close_hop(
    hop: Hop, error: BaseException | None, *, failed: bool = False, unfinished: bool = False
) -> None:
    """Close a hop: record what escapes, write its report, and hand its log to the hop around it.

    Args:
        hop: The hop.
        error: The exception that leaves it, or None.
        failed: True if its own failure is its result, although no exception shows that.
        unfinished: True if it came to no result, although no exception shows that.
    """
    with guard("hop end"):
        recorder().drain()
    if error is not None:
        unfinished = True
        with guard("recording what escapes a hop"):
            failed = record_escape(hop, error) or failed
    hop.mark_closed()
    if hop.span is None:
        return
    is_recording = hop.span.is_recording()
    with guard("report of a hop"):
        # Of several hops on one span the outermost writes: an attribute cannot be taken back.
        if is_recording and hop.log and hop.must_report():
            report_hop(hop, failed=failed, unfinished=unfinished)
    is_over = not is_recording and sdk_spans.is_local_root(hop.span)
    recorder().writer.index.hop_closed(hop.span.get_span_context().trace_id, is_over=is_over)


def report_hop(
    hop: Hop, *, failed: bool, unfinished: bool = False, sent: FailureReport | None = None
) -> None:
    """Write the report of `hop` on its span; see `hop_report.write_report`."""
    index = recorder().writer.index
    write_report(hop, index, failed=failed, unfinished=unfinished, sent=sent)


class hop:  # noqa: N801 - used as a function
    """Context manager for one piece of work with a failure report of its own.

    Hops nest: what an inner one has seen belongs to the outer one too. A failure that leaves the
    block, itself or in the explicit chain of another exception, is recorded; the outermost becomes
    the hop's own failure. Nothing is swallowed and nothing is raised.

    Args:
        span: The span that gets the attributes of the report; by default the current one at entry.
    """

    __slots__ = ("_opened", "_span")

    def __init__(self, span: Span | None = None) -> None:
        self._span = span
        # One for each entry; None for an entry that opened no hop.
        self._opened: list[Hop | None] = []

    def __enter__(self) -> None:
        opened = None
        with guard("hop"):
            if current().enabled is not False:
                opened = open_hop(self._span, running_hop())
                current_hop.set(opened)
        self._opened.append(opened)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        opened = self._opened.pop() if self._opened else None
        if opened is None:
            return
        try:
            with guard("hop end"):
                close_hop(opened, exc)
        finally:
            # No token: a generator may be closed in another order, or context, than it was opened
            # in.
            if current_hop.get() is opened:
                current_hop.set(opened.innermost_open())


def current_report() -> FailureReport:
    """Return the report of the current hop so far; empty outside of a hop."""
    with guard("current_report"):
        recorder().drain()
        running = running_hop()
        opened = None if running is None else running.innermost_open()
        if opened is not None:
            return opened.log.report()
    return FailureReport()


hop.__module__ = "failgraph"
