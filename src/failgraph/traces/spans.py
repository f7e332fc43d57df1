"""A span as every reader gives it: the same shape from each dialect, with no more of it than failgraph needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from failgraph import semconv

Value = object
"""str, bool, int, float, or a list of them."""

KINDS = ("", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
"""The kinds of spans, by OTLP's numbers."""


@dataclass(frozen=True, slots=True)
class EventRecord:
    """A failure event."""

    time_unix_nano: int
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """A span; ids in lower-case hex, times in ns since the epoch, 0 where the source does not say one."""

    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: str
    """`INTERNAL`, `SERVER`, `CLIENT`, `PRODUCER`, `CONSUMER`, or empty."""
    start_unix_nano: int
    end_unix_nano: int
    service: str
    process: int
    """Equal for spans of one resource; means nothing else."""
    attributes: Mapping[str, Value]
    events: tuple[EventRecord, ...]
    """In a trace that was put together only those that name the trace of their cause: the others are its failures."""
    dropped: int
    """Events and attributes that the span dropped at its limits."""
    status: str
    """`OK`, `ERROR`, or empty; never its description, which may hold anything."""

    @property
    def has_failures(self) -> bool:
        """Whether it holds a failure event or a hop's report, or was made to hold one."""
        return (
            bool(self.events)
            or self.is_failure_span
            or semconv.REPORT_SCHEMA_VERSION in self.attributes
        )

    @property
    def is_failure_span(self) -> bool:
        """Whether it was made only to hold a failure."""
        return self.attributes.get(semconv.FAILURE_SPAN) is True

    @property
    def is_of_journal(self) -> bool:
        """Whether it is made of a journal's line: it says nothing of how long anything took."""
        return self.attributes.get(semconv.JOURNAL) is True

    @property
    def is_stand_in(self) -> bool:
        """Whether it only stands where a span was that a journal knows of."""
        return self.is_of_journal and not self.is_failure_span

    @property
    def is_row(self) -> bool:
        """Whether it stands for a saved row, which holds no times."""
        return self.attributes.get(semconv.ROW) is True

    @property
    def duration_nano(self) -> int | None:
        """How long it took; None where it has not ended, or its times say nothing."""
        timed = (
            0 < self.start_unix_nano <= self.end_unix_nano
            and not self.is_row
            and not self.is_of_journal
        )
        return self.end_unix_nano - self.start_unix_nano if timed else None

    def lightened(self) -> SpanRecord:
        """The same without the events that say no more than the failures made of them."""
        if not self.events:
            return self
        return replace(
            self,
            events=tuple(each for each in self.events if semconv.CAUSE_TRACE_ID in each.attributes),
        )

    def is_of_process(self, other: SpanRecord) -> bool:
        """Whether both are of one process, as far as can be told: a journal does not know all of a resource."""
        if self.is_stand_in or other.is_stand_in:
            return self.service == other.service
        return self.process == other.process

    def merged(self, other: SpanRecord) -> SpanRecord:
        """One span of two copies: all events and attributes of both, where they differ the ended one's."""
        if self.is_stand_in or other.is_stand_in:
            return other if self.is_stand_in else self
        first, second = (
            (self, other) if self.end_unix_nano or not other.end_unix_nano else (other, self)
        )
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
        """Whether two copies cannot be of one span: another name, parent or process."""
        if self.is_of_journal or other.is_of_journal:
            return False
        ours, theirs = ((each.name, each.parent_span_id, each.process) for each in (self, other))
        return ours != theirs
