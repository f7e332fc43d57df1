"""The failures of a trace: each one once, with the span that it was observed on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from failgraph.codec.event_decoder import DecodedEvent, decode_event, is_better_copy
from failgraph.failure.records import FailureEvent
from failgraph.losses import Loss
from failgraph.traces.spans import SpanRecord

_MAX_REMOTE_CAUSES = 256  # causes in other traces; a longer chain ends in `cause_missing`


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """One failure, and where it was observed.

    Attributes:
        event: The failure.
        span: The span that holds it; may be a failure span.
        stands_on: The span that it was observed on. For a failure span its parent, or the failure
            span itself if the source does not hold the parent.
        time_unix_nano: When it was observed, in ns since the epoch, or 0 if unknown.
        decoded: The event as decoded, with its losses.
    """

    event: FailureEvent
    span: SpanRecord
    stands_on: SpanRecord
    time_unix_nano: int
    decoded: DecodedEvent

    @property
    def placement(self) -> str:
        """Where it was found: `span`, `failure_span`, `journal` (nowhere else), or saved `row`."""
        if self.span.is_from_journal:
            return "journal"
        if self.span.is_row:
            return "row"
        return "failure_span" if self.span.is_failure_span else "span"

    @property
    def span_id(self) -> str | None:
        """The span that holds it; for a journal, the one it was observed on, or None."""
        return self.span.parent_span_id if self.span.is_from_journal else self.span.span_id


class TimedEvent(NamedTuple):
    """A decoded failure event and its time, in ns since the epoch."""

    time_unix_nano: int
    decoded: DecodedEvent


class TraceFailures(NamedTuple):
    """The failures of one trace by event id, and what is damaged or missing among them."""

    failures: dict[str, FailureRecord]
    losses: list[Loss]


def decode_events(spans: Mapping[str, SpanRecord]) -> dict[str, list[TimedEvent]]:
    """Decode the failure events of a trace, by span id."""
    return {
        span_id: [
            TimedEvent(event.time_unix_nano, decode_event(event.attributes))
            for event in span.events
        ]
        for span_id, span in spans.items()
    }


def choose_failures(
    spans: Mapping[str, SpanRecord], events: Mapping[str, list[TimedEvent]]
) -> TraceFailures:
    """Choose one copy of each failure of a trace.

    An observer's own copy wins over a peer's, and among copies from peers the one with more text.
    Of several observers' copies the one on the span that started first wins. A copy from a journal
    is used if there is no other, or to repair a damaged one.

    Args:
        spans: The spans of the trace, by span id.
        events: Their failure events, by span id.
    """
    chosen: dict[str, FailureRecord] = {}
    losses: list[Loss] = []
    unreadable: list[str | None] = []
    for span in sorted(spans.values(), key=_by_start):
        if span.is_failure_span and not events[span.span_id]:
            losses.append(Loss("event_missing", f"the event of failure span {span.span_id}"))
        for timed in events[span.span_id]:
            decoded = timed.decoded
            if decoded.event is None or decoded.event_id is None:
                losses.extend(decoded.losses)
                unreadable.append(decoded.event_id)
                continue
            rival = chosen.get(decoded.event_id)
            if rival is not None:
                is_rival_own = not rival.decoded.remote
                if span.is_from_journal and (is_rival_own or decoded.remote):
                    chosen[decoded.event_id] = _repaired(rival, decoded)
                    continue
                # A saved row and the span that `export` made of it differ in the time only.
                is_same_row = span.is_row and decoded.event == rival.event
                if is_rival_own and not decoded.remote and not is_same_row:
                    detail = f"{decoded.event_id} on {span.name} {span.span_id}"
                    losses.append(Loss("duplicate", detail))
            if rival is None or is_better_copy(decoded, rival.decoded):
                chosen[decoded.event_id] = _record(decoded.event, timed, span, spans)
    losses.extend(
        Loss("event_missing", f"{event_id or 'one'} cannot be read")
        for event_id in unreadable
        if event_id not in chosen
    )
    losses.extend(
        Loss("attribute_missing", f"time of {event_id}")
        for event_id, failure in chosen.items()
        if not failure.time_unix_nano and not failure.span.is_row
    )
    return TraceFailures(chosen, losses)


def is_better_record(record: FailureRecord, other: FailureRecord) -> bool:
    """Return True if `record` is to be kept instead of `other`, which is of the same failure.

    A saved row only repeats what was observed elsewhere.
    """
    if record.span.is_row != other.span.is_row:
        return other.span.is_row
    return is_better_copy(record.decoded, other.decoded)


def _record(
    event: FailureEvent, timed: TimedEvent, span: SpanRecord, spans: Mapping[str, SpanRecord]
) -> FailureRecord:
    parent = spans.get(span.parent_span_id or "") if span.is_failure_span else None
    time_unix_nano = 0 if span.is_row else timed.time_unix_nano
    return FailureRecord(event, span, parent or span, time_unix_nano, timed.decoded)


def _repaired(failure: FailureRecord, decoded: DecodedEvent) -> FailureRecord:
    """Return a failure with the journal's copy of its event, if its own copy is damaged."""
    is_damaged = any(loss.kind != "unknown_kind" for loss in failure.decoded.losses)
    if not is_damaged or decoded.remote or decoded.event is None:
        return failure
    return replace(failure, event=decoded.event, decoded=decoded)


def _by_start(span: SpanRecord) -> tuple[bool, int, str]:
    """Sort key: by start in µs, since Jaeger's v1 JSON has no more, then by id.

    The order of the source is no help: in Jaeger's responses it is random.
    """
    return span.is_from_journal, span.start_unix_nano // 1000, span.span_id


def by_time(item: tuple[str, FailureRecord]) -> tuple[int, int, str]:
    """Sort key for failures by event id: by time, then by the order in their process.

    A failure without a time has that of its span.
    """
    event_id, failure = item
    time_unix_nano = failure.time_unix_nano or failure.span.start_unix_nano
    return time_unix_nano, failure.decoded.seq, event_id


def with_causes(
    failures: Mapping[str, FailureRecord], all_failures: Mapping[str, FailureRecord]
) -> dict[str, FailureRecord]:
    """Return `failures` with the chains of their causes in other traces, at most 256 causes."""
    result = dict(failures)
    limit = len(failures) + _MAX_REMOTE_CAUSES
    for failure in failures.values():
        cause_id = failure.event.cause_id
        while cause_id is not None and cause_id not in result and len(result) < limit:
            cause = all_failures.get(cause_id)
            if cause is None:
                break
            result[cause_id] = cause
            cause_id = cause.event.cause_id
    return result
