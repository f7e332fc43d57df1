"""The current span and hop of the running code. Needs the OpenTelemetry API only."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, Protocol

from opentelemetry import trace

if TYPE_CHECKING:
    from failgraph.failure.boundary import FailureBoundary


class HopContext(Protocol):
    """What a failure exception needs of its hop; the whole hop is in `recording`."""

    boundary: FailureBoundary | None

    def on_failure_created(self, error: BaseException) -> None:
        """Take note of a failure exception that was created in this hop."""

    def on_failure_dropped(self, error: BaseException) -> None:
        """Take note of a failure exception that was never recorded and is about to be freed."""


current_hop: ContextVar[HopContext | None] = ContextVar("failgraph_hop", default=None)
"""The innermost hop of the running code."""


def server_boundary() -> FailureBoundary | None:
    """Return the boundary of the Gym server that the code runs in, or None outside of one."""
    hop = current_hop.get()
    return None if hop is None else hop.boundary


class Moment(NamedTuple):
    """When and where a failure was observed.

    Attributes:
        time_unix_nano: Nanoseconds since the epoch.
        span: The current span, recording or not; None if there was none.
        hop: The current hop; None if there was none.

    """

    time_unix_nano: int
    span: trace.Span | None
    hop: HopContext | None


def current_moment() -> Moment:
    """Return the present time, span and hop."""
    span = trace.get_current_span()
    valid_span = span if span.get_span_context().is_valid else None
    return Moment(time.time_ns(), valid_span, current_hop.get())
