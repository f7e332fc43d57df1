"""A hop: one request served by one process, or one piece of work, with a failure report of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import Span, Status, StatusCode

from failgraph.codec.report_encoder import report_attributes
from failgraph.context import current_hop
from failgraph.diagnostics import guard
from failgraph.exceptions.cause_chain import is_cancellation, recorded_id
from failgraph.failure import cause_graph
from failgraph.failure.boundary import FailureBoundary
from failgraph.failure.records import FailureReport
from failgraph.recording import sdk_spans
from failgraph.recording.hop_log import MAX_REPORTED, HopLog
from failgraph.recording.recorder import recorder
from failgraph.semconv import REPORT_ROOT_SPAN_ID
from failgraph.settings import current
from failgraph.text import cut

if TYPE_CHECKING:
    from failgraph.exceptions.failure_exception import NgFailureEvent


class Hop:
    """An open hop and its log. Its span is the one given, else the current one."""

    def __init__(self, span: Span | None, inside: Hop | None) -> None:
        self.span: Span | None = None
        self.log = HopLog()
        self.closed = False
        self.reported = False
        """Whether its report was sent, so that what comes now is late."""
        self.outermost = True
        """Whether no hop of the same trace is around it in this process."""
        self.handled_around = sys.exc_info()[1]
        """What was being handled where it opened: none of its failures."""
        self._copies = 0
        self._escapes_to: Span | None = None
        """Where a failure goes that does not know where it was made; None: on the current span."""
        self._outer = inside.open() if inside is not None else None
        self.boundary: FailureBoundary | None = (
            self._outer.boundary if self._outer is not None else None
        )
        """Who observes here, where that is a Gym server: for a failure that does not say."""
        here = span or trace.get_current_span()
        if here.get_span_context().is_valid:
            self.adopt(here)

    def adopt(self, span: Span) -> None:
        """Make `span` the hop's."""
        if self.trace_id is not None:
            recorder().index.closed(self.trace_id, over=False)
        self.span = span
        trace_id = span.get_span_context().trace_id
        self.outermost = all(hop.trace_id != trace_id for hop in self.around())
        recorder().index.opened(trace_id)

    @property
    def trace_id(self) -> int | None:
        """The trace of its span; None without a span."""
        return self.span.get_span_context().trace_id if self.span is not None else None

    def open(self) -> Hop | None:
        """This hop while it is open, else the nearest open one around it."""
        return self if not self.closed else next(self.around(), None)

    def has_reported(self) -> bool:
        """Whether the report of its span is written: of several hops on one span the outermost writes it."""
        around = [hop for hop in self.around() if hop.span is self.span]
        return self.reported or any(hop.reported for hop in around) or (self.closed and not around)

    def around(self) -> Iterator[Hop]:
        """The open hops that this one is inside of, innermost first."""
        hop = self._outer
        while hop is not None:
            if not hop.closed:
                yield hop
            hop = hop._outer

    def __deepcopy__(self, memo: object) -> Hop:
        """Itself: a scope that holds it may be copied."""
        return self

    def takes_copy(self) -> bool:
        """Whether one more failure that a peer only passed on is recorded here; a hostile one could send any number."""
        self._copies += 1
        return self._copies <= MAX_REPORTED

    def relayed(self, value: str) -> None:
        """A peer's report header was taken in here; a request must not hand it on by copying headers."""
        outer = next(self.around(), None)
        if outer is not None:
            outer.relayed(value)

    def born(self, error: NgFailureEvent) -> None:
        """A failure was made here. Only a hop that is told by nobody wants to know."""
        outer = next(self.around(), None)
        if outer is not None:
            outer.born(error)

    def let_go(self, error: NgFailureEvent) -> None:
        """A failure that was made here and never recorded is about to be gone."""
        outer = next(self.around(), None)
        if outer is not None:
            outer.let_go(error)

    def escape(self, error: BaseException) -> bool:
        """Record what leaves with `error`; whether the hop's own failure is among it."""
        own = recorder().record_escaping(error, self, self._escapes_to)
        # Cancelling is the caller's doing; only a failure that led to it is the hop's own.
        return not (is_cancellation(error) and own == recorded_id(error)) and self.log.claim(own)

    def close(
        self, error: BaseException | None, *, failed: bool = False, unfinished: bool = False
    ) -> None:
        """Record what escapes, write the report on the hop's span, and hand the log to the hop around this one.

        `failed` says that the own failure is what became of the hop, and `unfinished` that it came to no result, though
        no exception shows it.
        """
        escaped = failed
        with guard("hop end"):
            recorder().drain()
        if error is not None:
            with guard("recording what escapes a hop"):
                escaped = self.escape(error) or failed
        self.closed = True
        # A closed hop in between is let go, so that a chain of tasks does not keep them all.
        self._outer = next(self.around(), None)
        if self._outer is not None:
            self._outer.log.absorb(self.log)
        if self.span is None:
            return
        recording = self.span.is_recording()
        with guard("report of a hop"):
            # Of several hops on one span the outermost writes: an attribute cannot be taken back.
            if recording and self.log and not self.reported and self.has_reported():
                self.write(failed=escaped, unfinished=unfinished or error is not None)
        over = not recording and sdk_spans.is_local_root(self.span)
        recorder().index.closed(self.span.get_span_context().trace_id, over=over)

    def write(
        self, *, failed: bool, unfinished: bool = False, sent: FailureReport | None = None
    ) -> None:
        """Write the report on the hop's span, as it was `sent`; mark it where it `failed` or is `unfinished`."""
        span = self.span
        if span is None:
            return
        context, index = span.get_span_context(), recorder().index
        before = index.log_before(context, self.log)
        if before is not None:
            self.log.absorb(before)
            self.log.failure_id = self.log.failure_id or before.failure_id
        seen = self.log.seen()
        if self.outermost:
            index.own(context.trace_id, seen.failure_id)
        root = cause_graph.root_cause(
            {key: event.cause_id for key, event in seen.events.items()},
            seen.failure_id,
            seen.events,
        )
        place = index.place_of(root, context.trace_id)
        root_span_id = (
            f"{place.span_id:016x}"
            if place is not None and place.trace_id == context.trace_id
            else None
        )
        present = sdk_spans.attributes_of(span)
        if root_span_id is None and REPORT_ROOT_SPAN_ID in present:
            root_span_id = ""  # of an earlier hop on this span, with another root
        limits = sdk_spans.span_limits(span).span
        free = None if limits.attributes is None else max(0, limits.attributes - len(present))
        limits = limits._replace(attributes=free)
        span.set_attributes(
            report_attributes(seen, root_span_id, limits, present, sent, unfinished=unfinished)
        )
        if failed and seen.failure_id is not None:
            _mark_error(span, seen.events[seen.failure_id].failure_kind)


def _mark_error(span: Span, kind: str) -> None:
    """ERROR with the kind, where the status is unset or an ERROR without a description."""
    status = getattr(span, "status", None)
    if not isinstance(status, Status):
        return
    if status.status_code is StatusCode.UNSET or (
        status.status_code is StatusCode.ERROR and not status.description
    ):
        span.set_status(Status(StatusCode.ERROR, cut(kind, 256)))


class hop:  # noqa: N801 - used as a function is
    """Context manager: one piece of work with a failure report of its own.

    `span` is the span that gets the report's attributes; by default the one that is current at entry. Hops nest: what
    an inner one has seen belongs to the outer one too. A failure that leaves the block, itself or as the outermost in
    the explicit chain of what leaves it, is recorded and is the hop's own failure. Nothing is swallowed, nothing is
    raised.
    """

    __slots__ = ("_opened", "_span")

    def __init__(self, span: Span | None = None) -> None:
        self._span = span
        self._opened: list[Hop] = []

    def __enter__(self) -> None:
        with guard("hop"):
            if current().enabled is not False:
                opened = Hop(self._span, current_hop.get())
                self._opened.append(opened)
                current_hop.set(opened)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._opened:
            return
        opened = self._opened.pop()
        try:
            with guard("hop end"):
                opened.close(exc)
        finally:
            # No token: a generator may be closed in another order, or context, than it was opened in.
            if current_hop.get() is opened:
                current_hop.set(opened.open())


def current_report() -> FailureReport:
    """The report of the hop that this code runs in, as far as it has got; empty outside a hop."""
    with guard("current_report"):
        recorder().drain()
        here = current_hop.get()
        opened = here.open() if here is not None else None
        if opened is not None:
            return opened.log.report()
    return FailureReport()
