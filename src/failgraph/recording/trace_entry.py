"""What is known of one trace while its failures are being written."""

from __future__ import annotations

from typing import NamedTuple

from opentelemetry.trace import SpanContext

from failgraph.failure.records import FailureEvent
from failgraph.recording.hop_log import HopLog


class WrittenFailure(NamedTuple):
    """A failure of a trace.

    Attributes:
        event: Its record.
        is_remote: True for a copy that a peer sent.
        span_context: The span that holds it; None while it is being written.
        replaced: While it is being written, the copy from a peer whose place it takes, or None.
    """

    event: FailureEvent
    is_remote: bool
    span_context: SpanContext | None
    replaced: WrittenFailure | None = None


class TraceFailures(NamedTuple):
    """The failures that were written to a trace, in order, and the id of its own failure."""

    events: dict[str, FailureEvent]
    failure_id: str | None


class SpanEntry:
    """What failgraph has put on one span."""

    __slots__ = ("events", "links", "log")

    def __init__(self) -> None:
        self.events = 0
        self.links: set[tuple[int, int]] = set()
        self.log: HopLog | None = None


class TraceEntry:
    """What is known of one trace. `had_hop` is True once a hop was seen in it."""

    __slots__ = ("events", "failure_id", "had_hop", "spans")

    def __init__(self) -> None:
        self.events: dict[str, WrittenFailure] = {}
        self.spans: dict[int, SpanEntry] = {}
        self.had_hop = False
        self.failure_id: str | None = None
