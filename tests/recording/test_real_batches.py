"""No batch is lost because of what we wrote: any failure, real encoders, a real Collector."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings as hypothesis_settings, strategies as st
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import Status, StatusCode

import failgraph
from failgraph import FailureBoundary, NgFailureEvent
from failgraph.failure.records import FailureEvent
from failgraph.instrumentation import attach as attaching
from failgraph.readers import read, spans
from real_backends import collector, jaeger, post

pytestmark = pytest.mark.needs("collector", "jaeger")
COUNT = 600
BATCH = 24
"""Spans of a batch: a receiver takes messages of 4 MiB."""

TEXT = st.one_of(
    st.text(st.characters(), max_size=60),  # lone surrogates, NUL, controls and unassigned ones too
    st.sampled_from(
        (
            *(
                "",
                "\ud800",
                "a\udfff" * 900,
                "\x00" * 3,
                "\uffff\ufdd0",
                "日" * 5000,
                "\U0001f469\u200d\U0001f680" * 900,
            ),
            *("\x1b[31m", "\u202e", "x" * 200_000, "caf\udce9.txt", "e\u0301" * 3000),
        )
    ),
)
NUMBER = st.one_of(
    st.integers(),
    st.sampled_from([0, -1, 100, 599, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**400, 1 << 20_000]),
    st.sampled_from([True, 1.5, float("nan"), float("inf"), "503", None, b"\xff", [], {}]),
)
ANY = st.one_of(TEXT, NUMBER, st.lists(TEXT, max_size=2), st.dictionaries(TEXT, NUMBER, max_size=2))
NAMES = [
    name
    for name in FailureEvent.model_fields
    if name not in ("event_id", "boundary", "details", "cause_id")
]
DETAILS = [
    "provider",
    "provider_sandbox_id",
    "provider_status_reason",
    "exit_code",
    "provider_request_id",
    "unknown",
]
RECIPES = st.fixed_dictionaries(
    {
        "fields": st.dictionaries(st.sampled_from(NAMES), ANY, max_size=6),
        "details": st.none() | ANY | st.dictionaries(st.sampled_from(DETAILS), ANY),
        "boundary": st.sampled_from([*FailureBoundary]),
        "event_id": st.none() | TEXT,
        "cause": st.none() | TEXT,
        "way": st.sampled_from(["record", "leaves", "foreign", "status", "wrong"]),
        "wrong": ANY,
    }
)


def recipes() -> list[dict[str, Any]]:
    """So many, the same in each run."""
    found: list[dict[str, Any]] = []

    @hypothesis_settings(
        max_examples=COUNT, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(RECIPES)
    def keep(recipe: dict[str, Any]) -> None:
        found.append(recipe)

    keep()
    return found


def made(recipe: dict[str, Any]) -> BaseException:
    """The exception of a recipe."""
    if recipe["way"] == "foreign":
        return RuntimeError(recipe["cause"], recipe["fields"].get("failure_reason") is None)
    fields = {"failure_kind": "judge_failed", **recipe["fields"]}
    error = NgFailureEvent(
        boundary=recipe["boundary"],
        details=recipe["details"],
        event_id=recipe["event_id"],
        **fields,
    )
    error.__cause__ = None if recipe["cause"] is None else OSError(recipe["cause"])
    return error


def follow(recipe: dict[str, Any], tracer: Any) -> None:
    """Run a recipe on a span of its own in a hop, between harmless events."""
    with (
        contextlib.suppress(NgFailureEvent, RuntimeError),
        tracer.start_as_current_span("work") as span,
    ):
        with failgraph.hop():
            if recipe["way"] == "wrong":
                failgraph.record(
                    recipe["wrong"], boundary=recipe["wrong"], kind=recipe["wrong"], own=True
                )
            elif recipe["way"] == "status" and isinstance(recipe["wrong"], str):
                span.set_status(Status(StatusCode.ERROR, recipe["wrong"]))
            elif recipe["way"] == "record":
                failgraph.record(
                    made(recipe), reason=recipe["wrong"], stage=recipe["cause"], own=True
                )
            else:
                raise made(recipe)


@pytest.fixture
def batches(make_provider, exporter) -> list[list[ReadableSpan]]:
    """What is to be sent, with an innocent span in each batch."""
    attaching.attach("the test", include_global=False)
    try:
        tracer = make_provider().get_tracer("test")
        for number, recipe in enumerate(recipes()):
            if number % (BATCH - 1) == 0:
                tracer.start_span("innocent").end()
            follow(recipe, tracer)
    finally:
        attaching.detach()
    ended = list(exporter.get_finished_spans())
    return [ended[at : at + BATCH] for at in range(0, len(ended), BATCH)]


@pytest.mark.parametrize("way", ["grpc", "http", "json"])
def test_every_span_of_every_batch_arrives(way, batches, tmp_path):
    """By gRPC, by HTTP and as JSON: with each failure on it, whatever stands in its fields."""
    sent = {f"{span.context.span_id:016x}": span for batch in batches for span in batch}
    failures = sum(
        event.name == "nemo.gym.failure" for span in sent.values() for event in span.events
    )
    assert failures > COUNT // 2
    with jaeger(tmp_path) as there, collector(tmp_path, there) as between:
        if way == "json":
            encoded = as_json(batches, tmp_path)
            for line in encoded.splitlines():
                post(between.otlp_http, line)
        else:
            exporter = (
                GrpcExporter(f"http://{between.otlp_grpc}", insecure=True)
                if way == "grpc"
                else HttpExporter(f"http://{between.otlp_http}/v1/traces")
            )
            assert [exporter.export(batch) for batch in batches] == [
                SpanExportResult.SUCCESS
            ] * len(batches)
            exporter.shutdown()
        between.end()
        arrived = list(spans(between.json))
        reading = read(between.json)
    assert {span.span_id for span in arrived} == sent.keys()
    assert sum(len(span.events) for span in arrived) == failures
    kinds = {loss.kind for trace in reading.traces for loss in trace.losses}
    assert kinds <= {"unknown_kind", "duplicate"}, kinds


def as_json(batches: list[list[ReadableSpan]], folder: Path) -> bytes:
    """What OpenTelemetry's exporter of JSON lines writes."""
    name = "opentelemetry.exporter.otlp.json.file"
    module = pytest.importorskip(name, reason="this set has no exporter of JSON files")
    path = folder / "written.jsonl"
    exporter = module.FileSpanExporter(str(path))
    for batch in batches:
        assert exporter.export(batch) is SpanExportResult.SUCCESS
    exporter.shutdown()
    written = path.read_bytes()
    assert all(json.loads(line) for line in written.splitlines())
    return written
