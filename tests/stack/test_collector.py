"""From the real exporters through a real Collector and a real Jaeger, over gRPC and over HTTP."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings as hypothesis_settings
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from dialects import DIALECTS, merged
from failgraph import FailureEvent, FailureReport, ModelFailureDetails, SandboxFailureDetails
from failgraph.codec import encode_report
from failgraph.failure.records import SdkErrorDetails
from failgraph.readers import read
from failgraph.semconv import EVENT_NAME
from real_backends import Collector, Jaeger, collector, jaeger
from record_strategies import reports
from same_readings import same
from sdk_spans import sdk_spans

pytestmark = pytest.mark.needs("collector", "jaeger")

PROTOCOLS = ("grpc", "http")


@contextlib.contextmanager
def carried(
    protocol: str, batches: Sequence[Sequence[ReadableSpan]], folder: Path
) -> Iterator[Collector]:
    """Send spans with the exporter of a protocol, and wait until they have arrived."""
    with jaeger(folder) as there, collector(folder, there) as between:
        exporter: SpanExporter = (
            GrpcExporter(f"http://{between.otlp_grpc}", insecure=True)
            if protocol == "grpc"
            else HttpExporter(f"http://{between.otlp_http}/v1/traces")
        )
        for batch in batches:
            assert exporter.export(batch) is SpanExportResult.SUCCESS
        exporter.shutdown()
        between.end()
        yield between


# --- the demo's fleet


@pytest.fixture(scope="module", params=PROTOCOLS)
def fleet(request, fleet_file, tmp_path_factory) -> Iterator[Collector]:
    """Provide a Collector that has got the traces of the demo's fleet."""
    with carried(
        request.param, [list(sdk_spans(fleet_file))], tmp_path_factory.mktemp(request.param)
    ) as found:
        yield found


@pytest.mark.parametrize("form", ["json", "proto"])
def test_the_collectors_file_equals_the_fleets_file(fleet, fleet_file, form):
    """The same reports, spans, hops, times and losses, in both formats."""
    same(read(fleet.json if form == "json" else fleet.proto), read(fleet_file))


@pytest.mark.parametrize("api", ["api/v3/traces", "api/traces"])
def test_jaeger_equals_the_fleets_file(fleet, fleet_file, reading, api):
    """The same reports, spans, hops, times and losses, from both APIs."""
    written = read(fleet_file)
    assert len(written.traces) > 5
    same(reading(fleet.jaeger.traces(api, written.trace_ids)), written)


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name.startswith("Tempo")])
def test_tempos_stand_in_equals_the_fleets_file(fleet, fleet_file, reading, dialect):
    """What the Collector sends on, in the formats of Tempo's API; no Tempo can be built here."""
    document = merged(*map(json.loads, fleet.json.read_bytes().splitlines()))
    same(reading(DIALECTS[dialect](document)), read(fleet_file))


# --- a thousand reports

COUNT = 1_000
SERVICES = 10  # a response to a search holds a tenth


def generated() -> list[FailureReport]:
    """Return reports of every shape: the same in each run, since a failing one cannot be shrunk."""
    found: list[FailureReport] = []

    @hypothesis_settings(
        max_examples=COUNT,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(reports())
    def keep(report: FailureReport) -> None:
        found.append(report)

    keep()
    return found


def as_spans(report: FailureReport, service: str) -> list[ReadableSpan]:
    """Return the hop of a report and a span below it, which hold the events in turns."""
    events, attributes = encode_report(report)
    provider = TracerProvider(resource=Resource({"service.name": service}), shutdown_on_exit=False)
    tracer = provider.get_tracer("test")
    with (
        tracer.start_as_current_span("hop", attributes=attributes) as hop,
        tracer.start_as_current_span("in") as inner,
    ):
        for position, each in enumerate(events):
            (inner, hop)[position % 2].add_event(EVENT_NAME, each)
    return [hop, inner]


class Thousand(NamedTuple):
    """A thousand reports, and where they arrived.

    Attributes:
        made: The reports by trace id.
        carried: The Collector that got them.
    """

    made: dict[str, FailureReport]
    carried: Collector


@pytest.fixture(scope="module")
def thousand(tmp_path_factory) -> Iterator[Thousand]:
    """Send them over gRPC, in batches within the 4 MiB that each receiver accepts."""
    drawn = generated()
    spans = [
        as_spans(report, f"reports-{number % SERVICES}") for number, report in enumerate(drawn)
    ]
    made = {
        f"{hop.context.trace_id:032x}": report
        for (hop, _), report in zip(spans, drawn, strict=True)
    }
    batches = [list(chain.from_iterable(spans[at : at + 25])) for at in range(0, COUNT, 25)]
    with carried("grpc", batches, tmp_path_factory.mktemp("thousand")) as found:
        yield Thousand(made, found)


def searched(there: Jaeger, api: str) -> bytes:
    """Return all traces, with one search per service."""
    services = [f"reports-{number}" for number in range(SERVICES)]
    if api == "api/traces":
        return b"\n".join(
            there.get(api, service=name, limit=COUNT, start=10**15, end=4 * 10**15)
            for name in services
        )
    asked = {
        "num_traces": COUNT,
        "start_time_min": "2020-01-01T00:00:00Z",
        "start_time_max": "2100-01-01T00:00:00Z",
    }
    query = {f"query.{name}": value for name, value in asked.items()}
    return b"\n".join(there.get(api, **query, **{"query.service_name": name}) for name in services)


def test_the_reports_have_every_field(thousand):
    """Each field of a record and of its parts is there many times."""
    events = [event for report in thousand.made.values() for event in report.events.values()]
    parts = [
        part
        for event in events
        for part in (event, event.foreign_error, event.details)
        if part is not None
    ]
    seen = Counter(
        (type(part), name) for part in parts for name, value in part if value is not None
    )
    models = (FailureEvent, SdkErrorDetails, SandboxFailureDetails, ModelFailureDetails)
    assert set(seen) == {(model, name) for model in models for name in model.model_fields}
    assert min(seen.values()) > 50


@pytest.mark.parametrize(
    "source", ["the Collector's JSON", "its protobuf", "api/v3/traces", "api/traces"]
)
def test_a_thousand_reports_come_back_as_they_were(thousand, reading, source):
    """All are equal, with their events in the same order."""
    files = {"the Collector's JSON": thousand.carried.json, "its protobuf": thousand.carried.proto}
    found = (
        read(files[source])
        if source in files
        else reading(searched(thousand.carried.jaeger, source))
    )
    assert found.losses == ()
    assert found.trace_ids == thousand.made.keys()
    back = dict.fromkeys(found.trace_ids, FailureReport())  # what a hop without failures has
    back.update((trace.trace_id, trace.hops[0].report) for trace in found.traces)
    equal = [back[trace_id] == report for trace_id, report in thousand.made.items()]
    assert equal == [True] * COUNT
    in_order = [
        list(back[trace_id].events) == list(report.events)
        for trace_id, report in thousand.made.items()
    ]
    assert in_order == [True] * COUNT
