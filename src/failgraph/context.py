"""Where the running code is: the current hop and span, by context variables, through the OpenTelemetry API alone."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry import trace

from failgraph.failure.boundary import FailureBoundary

if TYPE_CHECKING:
    from failgraph.recording.hops import Hop

current_hop: ContextVar[Hop | None] = ContextVar("failgraph_hop", default=None)
"""The innermost hop that this code runs in."""


def server_boundary() -> FailureBoundary | None:
    """The boundary of the Gym server that this code runs for; None where that is none."""
    hop = current_hop.get()
    return hop.boundary if hop is not None else None


class Birth(NamedTuple):
    """When and where a failure was observed."""

    time_unix_nano: int
    span: trace.Span | None
    """The span that was current, recording or not; None where there was none."""
    hop: Hop | None


def here() -> Birth:
    """This moment and place."""
    span = trace.get_current_span()
    return Birth(
        time.time_ns(), span if span.get_span_context().is_valid else None, current_hop.get()
    )
