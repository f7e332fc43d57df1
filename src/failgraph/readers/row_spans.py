"""Turn a saved row into a trace of one span: the attempt, with its failures. A row has no times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from failgraph import semconv
from failgraph.codec import Attributes, encode_event
from failgraph.codec.report_encoder import HopSummary, report_attributes
from failgraph.failure.kinds import OTHER
from failgraph.losses import Loss
from failgraph.readers.json_values import DocumentContext
from failgraph.readers.row_attempts import RowAttempt, read_attempt
from failgraph.readers.row_shapes import row_shape
from failgraph.redaction import redact_and_truncate
from failgraph.traces.spans import EventRecord, SpanRecord

SPAN_NAME = "rollout"
_SERVICE = "nemo-gym"
_MAX_SERVICE = 80  # characters


def row_spans(row: Mapping[str, Any], context: DocumentContext) -> Iterator[SpanRecord]:
    """Yield the span of the attempt that a row describes: none for evidence and inputs."""
    shape = row_shape(row)
    context.summary.rows += 1
    if shape not in ("attempt", "envelope"):
        return
    try:
        attempt = read_attempt(row, shape)
    except ValueError as error:
        context.add_problem(str(error))
        return
    for loss in attempt.losses:
        context.summary.add_loss(Loss(loss.kind, f"{loss.detail}, line {context.line}"))
    yield _span(attempt)


def _span(attempt: RowAttempt) -> SpanRecord:
    return SpanRecord(
        trace_id=attempt.trace_id,
        span_id=attempt.span_id,
        parent_span_id=None,
        name=SPAN_NAME,
        kind="INTERNAL",
        start_unix_nano=0,
        end_unix_nano=0,
        service=attempt_service(attempt),
        process=0,
        attributes=attempt_attributes(attempt),
        events=tuple(EventRecord(0, attributes) for attributes in attempt_events(attempt)),
        dropped=0,
        status="" if attempt.failure_id is None else "ERROR",
    )


def attempt_service(attempt: RowAttempt) -> str:
    """Return the service of an attempt as Gym's own telemetry names it: `nemo-gym/<server>`."""
    if not attempt.server:
        return _SERVICE
    return redact_and_truncate(f"{_SERVICE}/{attempt.server}", _MAX_SERVICE)


def attempt_attributes(attempt: RowAttempt) -> Attributes:
    """Return the attributes of the span: the mark of a row, the rollout's id, and the report."""
    rollout: Attributes = {}
    if attempt.rollout_id is not None:
        rollout[semconv.ROLLOUT_ID] = attempt.rollout_id
    summary = HopSummary(
        attempt.events,
        attempt.failure_id,
        attempt.omitted,
        total=len(attempt.events),
        root_span_id=attempt.span_id,
    )
    return {semconv.ROW: True, **rollout, **report_attributes(summary)}


def attempt_events(attempt: RowAttempt) -> Iterator[Attributes]:
    """Yield the attributes of each failure event, in the order of the row."""
    for seq, event in enumerate(attempt.events.values()):
        yield encode_event(event, seq=seq)


def attempt_failure_kind(attempt: RowAttempt) -> str | None:
    """Return the kind of failure that ended an attempt, or None if it scored."""
    if attempt.failure_id is None:
        return None
    own = attempt.events.get(attempt.failure_id)
    return OTHER if own is None else own.failure_kind
