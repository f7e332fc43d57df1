"""A hop: one request served by one process, or one piece of work, with a failure report of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import Token
from types import TracebackType

from opentelemetry import trace
from opentelemetry.trace import Span, Status, StatusCode

from failgraph import graph, placement
from failgraph.codec import report_attributes
from failgraph.context import current_hop
from failgraph.diagnostics import count, guard
from failgraph.hoplog import HopLog
from failgraph.recorder import recorder
from failgraph.records import FailureReport
from failgraph.settings import current
from failgraph.text import cut


class Hop:
    """An open hop and its log. Opened by `hop()`; its span is the one given, else the current one."""

    def __init__(self, span: Span | None, parent: Hop | None) -> None:
        current_span = span or trace.get_current_span()
        self.span = current_span if current_span.get_span_context().is_valid else None
        self.parent = parent
        self.log = HopLog()
        self.closed = False
        if self.span is not None:
            recorder().index.opened(self.span.get_span_context().trace_id)

    def around(self) -> Iterator[Hop]:
        """The open hops that this one is inside of, innermost first."""
        hop = self.parent
        while hop is not None:
            if not hop.closed:
                yield hop
            hop = hop.parent

    def is_inside(self, other: Hop) -> bool:
        """Whether `other` is one of the open hops around this one."""
        return any(hop is other for hop in self.around())

    def close(self, error: BaseException | None) -> None:
        """Record what escapes, write the report on the hop's span, and hand the log to the hop around this one."""
        escaped = error is not None and self.log.claim(recorder().record_escaping(error, self))
        self.closed = True
        outer = next(self.around(), None)
        if outer is not None:
            outer.log.absorb(self.log)
        if self.span is None:
            return
        last = recorder().index.closed(self.span.get_span_context())
        # Of several hops on one span the outermost writes: an attribute cannot be taken back.
        if self.span.is_recording() and all(hop.span is not self.span for hop in self.around()):
            self._write(self.span, escaped=escaped, last=last)

    def _write(self, span: Span, *, escaped: bool, last: bool) -> None:
        if not self.log:
            return
        context, index = span.get_span_context(), recorder().index
        before = index.log_of(context, self.log)
        if before is not None:
            self.log.absorb(before)
            self.log.failure_id = self.log.failure_id or before.failure_id
        seen = self.log.seen()
        if last:
            index.own(context.trace_id, seen.failure_id)
        root = graph.root_cause(
            {key: event.cause_id for key, event in seen.events.items()}, seen.failure_id, seen.events
        )
        place = index.place_of(root)
        in_trace = place is not None and place.trace_id == context.trace_id
        span.set_attributes(
            report_attributes(
                seen,
                root_span_id=f"{place.span_id:016x}" if place is not None and in_trace else None,
                limits=placement.attribute_room(span),
            )
        )
        if escaped and seen.failure_id is not None:
            _mark_error(span, seen.events[seen.failure_id].failure_kind)


def _mark_error(span: Span, kind: str) -> None:
    """ERROR with the kind, where the status is unset or an ERROR without a description."""
    status = getattr(span, "status", None)
    if not isinstance(status, Status):
        return
    if status.status_code is StatusCode.UNSET or (status.status_code is StatusCode.ERROR and not status.description):
        span.set_status(Status(StatusCode.ERROR, cut(kind, 256)))


class hop:  # noqa: N801 - used as a function is
    """Context manager: one piece of work with a failure report of its own.

    `span` is the span that gets the report's attributes; by default the one that is current at entry. Hops nest: what
    an inner one has seen belongs to the outer one too. A failure that leaves the block, itself or as the outermost in
    the explicit chain of what leaves it, is recorded and is the hop's own failure. Nothing is swallowed, nothing is
    raised.
    """

    __slots__ = ("_hop", "_span", "_token")

    def __init__(self, span: Span | None = None) -> None:
        self._span = span
        self._hop: Hop | None = None
        self._token: Token[Hop | None] | None = None

    def __enter__(self) -> None:
        with guard("hop"):
            if current().enabled is not False:
                self._hop = Hop(self._span, current_hop.get())
                self._token = current_hop.set(self._hop)

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        opened, token = self._hop, self._token
        self._hop = self._token = None
        if opened is None or token is None:
            return
        with guard("hop end"):
            opened.close(exc)
        try:
            current_hop.reset(token)
        except ValueError:
            # A generator closed in another context than it was opened in; that context never had this hop.
            count("hop_left_elsewhere")


def current_report() -> FailureReport:
    """The report of the hop that this code runs in, as far as it has got; empty outside a hop."""
    with guard("current_report"):
        opened = current_hop.get()
        if opened is not None:
            return opened.log.report()
    return FailureReport()
