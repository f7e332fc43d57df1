"""The failures of a trace: each once, with the span that it was observed on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from failgraph.codec.event_decoder import DecodedEvent, decode_event, is_better_copy
from failgraph.failure.records import FailureEvent
from failgraph.losses import Loss
from failgraph.traces.spans import SpanRecord

_MAX_ELSEWHERE = 256
"""Causes in other traces that one trace takes in; a longer chain ends in `cause_missing`."""


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """One failure, and where it was observed."""

    event: FailureEvent
    span: SpanRecord
    """The span that holds it; a failure span where there was one."""
    stands_on: SpanRecord
    """The span that it was observed on: of a failure span its parent, where the source holds that."""
    time_unix_nano: int
    decoded: DecodedEvent

    @property
    def placement(self) -> str:
        """`span`, `failure_span`, `journal` where only a journal has it, `row` where it is of a row that Gym saved."""
        if self.span.is_of_journal:
            return "journal"
        return (
            "row" if self.span.is_row else "failure_span" if self.span.is_failure_span else "span"
        )

    @property
    def span_id(self) -> str | None:
        """The span that holds it, of a journal's the one that it was observed on; None outside any trace."""
        return self.span.parent_span_id if self.span.is_of_journal else self.span.span_id


def failures_of(spans: dict[str, SpanRecord], losses: list[Loss]) -> dict[str, FailureRecord]:
    """Each failure of a trace once: the observer's copy before a peer's, among peers' the one with more text.

    Of several observers' it is the one on the span that started first; a journal's stands where there is no other, and
    mends what of another is damaged. The spans are lightened.
    """
    events: dict[str, list[tuple[int, DecodedEvent]]] = {}
    for key, span in spans.items():
        events[key] = [
            (event.time_unix_nano, decode_event(event.attributes)) for event in span.events
        ]
        spans[key] = span.lightened()
    chosen: dict[str, FailureRecord] = {}
    unreadable: list[str | None] = []
    for span in sorted(spans.values(), key=_by_start):
        parent = spans.get(span.parent_span_id or "") if span.is_failure_span else None
        if span.is_failure_span and not events[span.span_id]:
            losses.append(Loss("event_missing", f"that of the failure span {span.span_id}"))
        for time_unix_nano, decoded in events[span.span_id]:
            if decoded.event is None or decoded.event_id is None:
                losses.extend(decoded.losses)
                unreadable.append(decoded.event_id)
                continue
            rival = chosen.get(decoded.event_id)
            if (
                span.is_of_journal
                and rival is not None
                and (decoded.remote or not rival.decoded.remote)
            ):
                chosen[decoded.event_id] = _mended(rival, decoded)
                continue
            if rival is not None and not rival.decoded.remote and not decoded.remote:
                losses.append(
                    Loss("duplicate", f"{decoded.event_id} on {span.name} {span.span_id}")
                )
            if rival is None or is_better_copy(decoded, rival.decoded):
                chosen[decoded.event_id] = FailureRecord(
                    decoded.event,
                    span,
                    parent or span,
                    0 if span.is_row else time_unix_nano,
                    decoded,
                )
    losses.extend(
        Loss("event_missing", f"{key or 'one'} cannot be read")
        for key in unreadable
        if key not in chosen
    )
    untimed = (
        key
        for key, failure in chosen.items()
        if not failure.time_unix_nano and not failure.span.is_row
    )
    losses.extend(Loss("attribute_missing", f"time of {key}") for key in untimed)
    return chosen


def _mended(failure: FailureRecord, decoded: DecodedEvent) -> FailureRecord:
    """A failure with the record that a journal has of it, where its own is damaged."""
    damaged = any(loss.kind != "unknown_kind" for loss in failure.decoded.losses)
    if not damaged or decoded.remote or decoded.event is None:
        return failure
    return replace(failure, event=decoded.event, decoded=decoded)


def _by_start(span: SpanRecord) -> tuple[bool, int, str]:
    """In µs, since Jaeger's own JSON has no more; the order in the source is by chance in what Jaeger answers."""
    return span.is_of_journal, span.start_unix_nano // 1000, span.span_id


def by_time(item: tuple[str, FailureRecord]) -> tuple[int, int, str]:
    """Sorts failures by time, then by the order in their process; one without a time by that of its span."""
    key, failure = item
    return failure.time_unix_nano or failure.span.start_unix_nano, failure.decoded.seq, key


def with_causes(
    failures: Mapping[str, FailureRecord], everywhere: Mapping[str, FailureRecord]
) -> dict[str, FailureRecord]:
    """`failures` with the chains of causes that other traces hold."""
    found = dict(failures)
    for failure in failures.values():
        cause_id = failure.event.cause_id
        most = len(failures) + _MAX_ELSEWHERE
        while (
            cause_id is not None
            and cause_id not in found
            and cause_id in everywhere
            and len(found) < most
        ):
            found[cause_id] = everywhere[cause_id]
            cause_id = everywhere[cause_id].event.cause_id
    return found
