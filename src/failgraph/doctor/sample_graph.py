"""A test failure graph that has every field, recorded as a program records one."""

from __future__ import annotations

import io
import uuid
from typing import NamedTuple

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import SpanKind

from failgraph.failure.records import (
    FailureBoundary,
    FailureEvent,
    FailureReport,
    ModelFailureDetails,
    SandboxFailureDetails,
    SdkErrorDetails,
)
from failgraph.readers import Trace
from failgraph.readers.reading import read_files
from failgraph.readers.source import SourceFile
from failgraph.recording.api import record
from failgraph.recording.hops import current_report, hop
from failgraph.recording.processor import FailureSpanProcessor
from failgraph.semconv import ROLLOUT_ID

SERVICE = "failgraph-doctor"
_SENTENCE = "a text of failgraph doctor, longer than what Tempo keeps of one – "  # 2,048 bytes


class SampleGraph(NamedTuple):
    """The graph, before it is sent.

    Attributes:
        report: The failures as they were recorded.
        spans: The spans that they were recorded on.
        trace: The trace as read from these spans, after the limits of this process, or None if
            they have no failure.
    """

    report: FailureReport
    spans: tuple[ReadableSpan, ...]
    trace: Trace | None


def record_sample_graph() -> SampleGraph:
    """Record three failures in two hops, with the environment's limits; one is recovered."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(
        sampler=ALWAYS_ON, resource=Resource.create({"service.name": SERVICE})
    )
    provider.add_span_processor(FailureSpanProcessor())
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer(SERVICE)
    model, sandbox, agent = _events()
    with tracer.start_as_current_span("failgraph doctor", attributes={ROLLOUT_ID: SERVICE}), hop():
        with tracer.start_as_current_span("model call", kind=SpanKind.SERVER), hop():
            record(model, own=True)
        record(sandbox)
        record(agent, own=True)
        report = current_report()
    provider.shutdown()
    spans = memory.get_finished_spans()
    data = encode_spans(spans).SerializeToString()
    file = SourceFile("the test failure graph", io.BytesIO(data))
    traces = read_files([file]).traces if data else []
    return SampleGraph(report, spans, traces[0] if traces else None)


def _events() -> tuple[FailureEvent, FailureEvent, FailureEvent]:
    """Return failures of a model and a sandbox with all fields, and one that the first caused."""
    mark = f"doctor-{uuid.uuid4().hex}"
    model = FailureEvent(
        event_id=f"{mark}-1",
        failure_kind="provider_unavailable",
        boundary=FailureBoundary.MODEL,
        failure_reason=(_SENTENCE * 40)[:1990],
        exception_type="builtins.ConnectionError",
        http_status=503,
        stage="agent",
        operation="chat.completions",
        operation_id=f"{mark}-operation",
        attempt_id=f"{mark}-attempt",
        foreign_error=SdkErrorDetails(
            exception_type="builtins.OSError", message="«überlastet» 过载", http_status=503
        ),
        details=ModelFailureDetails(
            provider_request_id=f"{mark}-request", request_upload_complete=True
        ),
    )
    sandbox = FailureEvent(
        event_id=f"{mark}-2",
        failure_kind="sandbox:killed",
        boundary=FailureBoundary.SANDBOX,
        details=SandboxFailureDetails(
            provider="subprocess",
            sandbox_id=f"{mark}-sandbox",
            execution_id=f"{mark}-execution",
            exit_code=-9,
            provider_status_reason="the process was killed by signal 9",
        ),
    )
    agent = FailureEvent(
        event_id=f"{mark}-3",
        failure_kind="agent_run_error",
        boundary=FailureBoundary.AGENT,
        cause_id=model.event_id,
    )
    return model, sandbox, agent
