"""A span as every reader gives it: the same shape from each dialect, with no more of it than failgraph needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    dropped: int
    """Events and attributes that the span dropped at its limits."""

    @property
    def tells_of_failures(self) -> bool:
        """Whether it holds a failure event or a hop's report."""
        return bool(self.events) or semconv.REPORT_SCHEMA_VERSION in self.attributes

    @property
    def is_failure_span(self) -> bool:
        """Whether it was made only to hold a failure."""
        return self.attributes.get(semconv.FAILURE_SPAN) is True

    @property
    def duration_nano(self) -> int | None:
        """How long it took; None where it has not ended, or its times say nothing."""
        return self.end_unix_nano - self.start_unix_nano if 0 < self.start_unix_nano <= self.end_unix_nano else None

    def or_fuller(self, other: SpanRecord) -> SpanRecord:
        """Of two copies of one span this one, unless the other has ended where this has not, or holds more."""
        ours, theirs = ((bool(each.end_unix_nano), len(each.events), len(each.attributes)) for each in (self, other))
        return other if theirs > ours else self
