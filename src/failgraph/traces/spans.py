"""Spans and failure events as every reader yields them, with only what failgraph needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from failgraph import semconv

Value = object
"""The value of an attribute: str, bool, int, float, a list of them, or None if it is unreadable."""

KINDS = ("", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
"""Names of span kinds, in the order of their numbers in OTLP."""


@dataclass(frozen=True, slots=True)
class EventRecord:
    """A failure event of a span.

    Attributes:
        time_unix_nano: In ns since the epoch, or 0 if unknown.
        attributes: Those with failgraph's prefix.
    """

    time_unix_nano: int
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """A span. Ids are lower-case hex, times are in ns since the epoch, or 0 if unknown.

    Attributes:
        trace_id: 32 hex digits.
        span_id: 16 hex digits.
        parent_span_id: None for a span without a parent. An invalid id is kept as it is.
        name: Name of the span, empty if unknown.
        kind: `INTERNAL`, `SERVER`, `CLIENT`, `PRODUCER`, `CONSUMER`, or empty if unknown.
        start_unix_nano: Start.
        end_unix_nano: End.
        service: The resource's `service.name`, empty if unknown.
        process: A number that is equal for spans with the same resource in one format.
        attributes: Those with failgraph's prefix, and the rollout's id.
        events: The failure events. In a `Trace` only those that name the trace of their cause: the
            others are in `Trace.failures`.
        dropped: Number of events and attributes that the SDK dropped at its limits.
        status: `OK`, `ERROR`, or empty. The description is never kept: it may hold anything.
    """

    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: str
    start_unix_nano: int
    end_unix_nano: int
    service: str
    process: int
    attributes: Mapping[str, Value]
    events: tuple[EventRecord, ...]
    dropped: int
    status: str

    @property
    def has_failures(self) -> bool:
        """True if it has a failure event or a hop's report, or was made to hold a failure."""
        return (
            bool(self.events)
            or self.is_failure_span
            or semconv.REPORT_SCHEMA_VERSION in self.attributes
        )

    @property
    def is_failure_span(self) -> bool:
        """True if it was made only to hold a failure."""
        return self.attributes.get(semconv.FAILURE_SPAN) is True

    @property
    def is_from_journal(self) -> bool:
        """True if it was made from a line of a journal. Its times say nothing about durations."""
        return self.attributes.get(semconv.JOURNAL) is True

    @property
    def is_stand_in(self) -> bool:
        """True if it stands in for a span that only a journal mentions."""
        return self.is_from_journal and not self.is_failure_span

    @property
    def is_row(self) -> bool:
        """True if it was made from a saved row. It has no times."""
        return self.attributes.get(semconv.ROW) is True

    @property
    def duration_nano(self) -> int | None:
        """Duration in ns, or None if the span has not ended or its times are unknown."""
        has_times = 0 < self.start_unix_nano <= self.end_unix_nano
        if not has_times or self.is_row or self.is_from_journal:
            return None
        return self.end_unix_nano - self.start_unix_nano

    def without_decoded_events(self) -> SpanRecord:
        """Return a copy without the events that say no more than the failures decoded from them."""
        if not self.events:
            return self
        events = tuple(event for event in self.events if semconv.CAUSE_TRACE_ID in event.attributes)
        return replace(self, events=events)

    def is_same_process(self, other: SpanRecord) -> bool:
        """Return True if both spans are from one process.

        A journal does not know the whole resource: for its spans the service decides.
        """
        if self.is_stand_in or other.is_stand_in:
            return self.service == other.service
        return self.process == other.process

    def merged(self, other: SpanRecord) -> SpanRecord:
        """Merge two copies of a span. Where they differ, the copy that has ended wins."""
        if self.is_stand_in:
            return other
        if other.is_stand_in:
            return self
        first, second = self, other
        if other.end_unix_nano and not self.end_unix_nano:
            first, second = other, self
        events = {
            (event.time_unix_nano, repr(event.attributes)): event
            for event in (*first.events, *second.events)
        }
        return replace(
            first,
            start_unix_nano=first.start_unix_nano or second.start_unix_nano,
            end_unix_nano=max(first.end_unix_nano, second.end_unix_nano),
            attributes={**second.attributes, **first.attributes},
            events=tuple(events.values()),
            dropped=max(first.dropped, second.dropped),
        )

    def conflicts(self, other: SpanRecord) -> bool:
        """Return True if two spans with one id differ in name, parent or service.

        Not in process: the number of one resource differs between JSON and protobuf.
        """
        if self.is_from_journal or other.is_from_journal:
            return False
        own = (self.name, self.parent_span_id, self.service)
        return own != (other.name, other.parent_span_id, other.service)
