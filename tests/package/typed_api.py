"""The public API as a user's type checker sees it. Never run: `mypy --strict` reads it."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanContext
from typing_extensions import assert_type

import failgraph
from failgraph import FailureBoundary, FailureEvent, FailureReport, NgFailureEvent
from failgraph.codec import decode, encode_event, encode_report
from failgraph.losses import Loss
from failgraph.readers import Reading, read


def use(provider: TracerProvider, context: SpanContext) -> None:
    """Each public name once."""
    provider.add_span_processor(failgraph.FailureSpanProcessor())
    event = FailureEvent(
        event_id="1", failure_kind="transport_timeout", boundary=FailureBoundary.MODEL
    )
    with failgraph.hop():
        recorded = failgraph.record(event, own=True)
        assert_type(recorded.event_id, str | None)
    failgraph.raise_for_failure(object())
    failgraph.record(ValueError("x"), boundary="agent", kind="agent_run_error")
    assert_type(failgraph.current_report(), FailureReport)
    assert_type(failgraph.report_for_trace(context), FailureReport)
    assert_type(failgraph.stats(), Mapping[str, int])
    assert_type(failgraph.flush(timeout_s=1.0), bool)
    error = NgFailureEvent("transport_timeout", "slow", 504, boundary="model")
    assert_type(error.to_record(), FailureEvent | None)
    report = failgraph.failure_report_for(error)
    assert_type(failgraph.rebuild_failure(report), NgFailureEvent | None)
    encode_event(event)
    assert_type(decode(*encode_report(report)), tuple[FailureReport, tuple[Loss, ...]])
    assert_type(read("traces.jsonl"), Reading)
