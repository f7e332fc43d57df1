"""A hop: one request served by one process, or one piece of work, with its own report."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from opentelemetry.trace import Span

from failgraph.context import Moment, current_hop
from failgraph.failure.boundary import FailureBoundary
from failgraph.recording.hop_log import MAX_REPORTED, HopLog, LoggedFailure


class Hop:
    """An open hop: its span, its log and the hops around it.

    `recording.hops` opens and closes it. A subclass may override how it takes note of failures.

    Attributes:
        span: The span that gets the report; None outside of any trace.
        log: The failures that the hop has seen.
        closed: True once the hop has ended.
        reported: True once its report was sent: failures that come later are `late`.
        outermost: True if no other hop of the same trace is around it in this process.
        escape_span: The span of an escaping failure that does not know where it was created; None
            for the current span.
        handled_around: The exception that was being handled where the hop was opened; not one of
            its own.
        boundary: Who observes here, if that is a Gym server.
    """

    def __init__(self, outer: Hop | None) -> None:
        self.span: Span | None = None
        self.log = HopLog()
        self.closed = False
        self.reported = False
        self.outermost = True
        self.escape_span: Span | None = None
        self.handled_around = sys.exc_info()[1]
        self._copies_taken = 0
        self._outer = None if outer is None else outer.innermost_open()
        self.boundary: FailureBoundary | None = None
        if self._outer is not None:
            self.boundary = self._outer.boundary

    @property
    def trace_id(self) -> int | None:
        """The trace id of its span, or None without a span."""
        return None if self.span is None else self.span.get_span_context().trace_id

    def innermost_open(self) -> Hop | None:
        """Return this hop while it is open, else the nearest open one around it."""
        return next(self.enclosing(), None) if self.closed else self

    def enclosing(self) -> Iterator[Hop]:
        """Yield the open hops around this one, innermost first."""
        hop = self._outer
        while hop is not None:
            if not hop.closed:
                yield hop
            hop = hop._outer

    def mark_closed(self) -> None:
        """Close the hop and hand its log to the hop around it."""
        self.closed = True
        # Drop closed hops in between, so that a chain of tasks does not keep them all alive.
        self._outer = next(self.enclosing(), None)
        if self._outer is not None:
            self._outer.log.absorb(self.log)

    def is_report_final(self) -> bool:
        """Return True if no report of its span can hold a later failure, written or not."""
        if self.reported or any(hop.reported for hop in self._around_on_span()):
            return True
        return self.closed and not self._around_on_span()

    def must_report(self) -> bool:
        """Return True unless its report was sent or an open hop around it is to write it."""
        around = self._around_on_span()
        return not self.reported and (not around or any(hop.reported for hop in around))

    def _around_on_span(self) -> list[Hop]:
        """Return the open hops around this one that have the same span."""
        return [hop for hop in self.enclosing() if hop.span is self.span]

    def accepts_copy(self) -> bool:
        """Count one more copy that a peer passed on. Return False for more than a report holds.

        A hostile peer could send any number.
        """
        self._copies_taken += 1
        return self._copies_taken <= MAX_REPORTED

    def on_report_received(self, header_value: str) -> None:
        """Take note of a peer's report header, so that a request does not hand it on unread."""
        outer = next(self.enclosing(), None)
        if outer is not None:
            outer.on_report_received(header_value)

    def on_failure_created(self, error: BaseException) -> None:
        """Take note of a failure exception that was created here. Only requests need that."""
        outer = next(self.enclosing(), None)
        if outer is not None:
            outer.on_failure_created(error)

    def on_failure_dropped(self, error: BaseException) -> None:
        """Take note of a failure exception that was never recorded and is about to be freed."""
        outer = next(self.enclosing(), None)
        if outer is not None:
            outer.on_failure_dropped(error)

    def __deepcopy__(self, memo: object) -> Hop:
        """Return the hop itself: the ASGI scope that holds it may be copied."""
        return self


def hop_of(moment: Moment) -> Hop | None:
    """Return the hop of a moment, open or closed."""
    return moment.hop if isinstance(moment.hop, Hop) else None


def open_hop_of(moment: Moment) -> Hop | None:
    """Return the innermost hop around a moment that is still open."""
    return moment.hop.innermost_open() if isinstance(moment.hop, Hop) else None


def running_hop() -> Hop | None:
    """Return the hop of the running code, open or closed."""
    hop = current_hop.get()
    return hop if isinstance(hop, Hop) else None


def log_in_hops(logged: LoggedFailure, birth: Moment, now: Moment, *, is_own: bool) -> list[Hop]:
    """Log a failure in each open hop that sees it: where it is recorded, and where it was created.

    Returns:
        Those hops.
    """
    open_hops: list[Hop] = []
    if now.hop is None and birth.hop is None:
        return open_hops
    for moment in (now, birth):
        hop = open_hop_of(moment)
        if hop is not None and hop not in open_hops:
            hop.log.add(logged)
            open_hops.append(hop)
    if is_own and open_hops:
        open_hops[0].log.claim(logged.event.event_id)
    return open_hops
