"""One failure on its way to the trace and the journal."""

from __future__ import annotations

from typing import NamedTuple

from opentelemetry.trace import Span, SpanContext

from failgraph.recording.observation import Observation


class Entry(NamedTuple):
    """What is to be written.

    Attributes:
        observation: The failure.
        span: The span that it belongs to; an invalid one outside of any trace.
        context: The context of that span.
        seq: Its order in the process.
        in_hop: True if a hop was open around it.
        is_own: True if it was recorded as the own failure of its hop.
        is_late: True if no report of its hop can hold it any more.
    """

    observation: Observation
    span: Span
    context: SpanContext
    seq: int
    in_hop: bool
    is_own: bool
    is_late: bool
