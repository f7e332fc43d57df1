"""A saved row as a trace of its own: one span for the attempt, with its failures. A row holds no times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from failgraph import semconv
from failgraph.codec import Attributes, encode_event
from failgraph.codec.report_encoder import HopSummary, report_attributes
from failgraph.failure.kinds import OTHER
from failgraph.losses import Loss
from failgraph.readers.json_parts import At
from failgraph.readers.row_attempts import Attempt, attempt_of, shape_of
from failgraph.redaction import redact_and_truncate
from failgraph.traces.spans import EventRecord, SpanRecord

SPAN_NAME = "rollout"
_SERVICE = "nemo-gym"
_MAX_SERVICE = 80


def row_spans(row: Mapping[str, Any], at: At) -> Iterator[SpanRecord]:
    """The span of the attempt that a row tells of; none for evidence and inputs, which tell of none."""
    shape = shape_of(row)
    at.bad.found.rows += 1
    if shape not in ("attempt", "envelope"):
        return
    try:
        attempt = attempt_of(row, shape)
    except ValueError as error:
        at.wrong(str(error))
        return
    for loss in attempt.losses:
        at.bad.lose(Loss(loss.kind, f"{loss.detail}, line {at.line}"))
    yield span_of(attempt)


def span_of(attempt: Attempt) -> SpanRecord:
    """The span of an attempt."""
    return SpanRecord(
        trace_id=attempt.trace_id,
        span_id=attempt.span_id,
        parent_span_id=None,
        name=SPAN_NAME,
        kind="INTERNAL",
        start_unix_nano=0,
        end_unix_nano=0,
        service=service_of(attempt),
        process=0,
        attributes=attributes_of(attempt),
        events=tuple(EventRecord(0, attributes) for attributes in events_of(attempt)),
        dropped=0,
        status="" if attempt.failure_id is None else "ERROR",
    )


def service_of(attempt: Attempt) -> str:
    """The service of an attempt, in the form of Gym's own telemetry: `nemo-gym/<server>`."""
    return (
        redact_and_truncate(f"{_SERVICE}/{attempt.server}", _MAX_SERVICE)
        if attempt.server
        else _SERVICE
    )


def attributes_of(attempt: Attempt) -> Attributes:
    """The attributes of the span: that it is of a row, the rollout's id, and the report."""
    rollout: Attributes = (
        {} if attempt.rollout_id is None else {semconv.ROLLOUT_ID: attempt.rollout_id}
    )
    hop = HopSummary(attempt.events, attempt.failure_id, attempt.omitted, len(attempt.events))
    return {semconv.ROW: True, **rollout, **report_attributes(hop, attempt.span_id)}


def events_of(attempt: Attempt) -> Iterator[Attributes]:
    """The attributes of each failure event, in the order of the row."""
    for seq, event in enumerate(attempt.events.values()):
        yield encode_event(event, seq=seq)


def failed_with(attempt: Attempt) -> str | None:
    """The kind that an attempt failed with; None where it scored."""
    if attempt.failure_id is None:
        return None
    own = attempt.events.get(attempt.failure_id)
    return OTHER if own is None else own.failure_kind
