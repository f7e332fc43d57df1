"""Through a real Jaeger and back out: what the demo's fleet wrote is what both of Jaeger's APIs give."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the demo's servers are FastAPI's, which this set lacks")
pytest.importorskip("opentelemetry.exporter.otlp.json.file", reason="the demo writes OTLP JSON, which this set cannot")

from failgraph.cli import main
from failgraph.readers import Trace, read

BUILD = Path(__file__).parent / "backends" / "build"
JAEGER = Path(subprocess.run([BUILD, "--where", "jaeger"], capture_output=True, text=True, check=True).stdout.strip())
pytestmark = pytest.mark.skipif(
    not JAEGER.exists() and not os.environ.get("CI"), reason="no Jaeger here: make backends"
)

CONFIG = """
service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines:
    traces: {{receivers: [otlp], processors: [batch], exporters: [jaeger_storage_exporter]}}
  telemetry: {{metrics: {{level: none}}}}
extensions:
  jaeger_storage: {{backends: {{kept: {{memory: {{max_traces: 1000}}}}}}}}
  jaeger_query:
    storage: {{traces: kept}}
    http: {{endpoint: "127.0.0.1:{query}"}}
    grpc: {{endpoint: "127.0.0.1:{grpc}"}}
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{otlp}"}}}}}}
processors:
  batch: {{timeout: 50ms}}
exporters:
  jaeger_storage_exporter: {{trace_storage: kept}}
"""


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in free:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in free]


@pytest.fixture(scope="module")
def jaeger(tmp_path_factory):
    """A Jaeger on loopback: where it takes OTLP, and where it is asked."""
    query, grpc, otlp = free_ports(3)
    folder = tmp_path_factory.mktemp("jaeger")
    (folder / "config.yaml").write_text(CONFIG.format(query=query, grpc=grpc, otlp=otlp))
    log = (folder / "log").open("w")
    process = subprocess.Popen([JAEGER, "--config", str(folder / "config.yaml")], stdout=log, stderr=log)
    try:
        until = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{query}/api/services", timeout=5).read()
                break
            said = (folder / "log").read_text()[-2000:]
            assert process.poll() is None, said
            assert time.monotonic() < until, said
            time.sleep(0.1)
        yield f"http://127.0.0.1:{otlp}", f"http://127.0.0.1:{query}"
    finally:
        process.terminate()
        process.wait(20)
        log.close()


@pytest.fixture(scope="module")
def sent(jaeger, tmp_path_factory) -> list[Trace]:
    """The traces of the demo, as its file has them, sent to that Jaeger as they are."""
    file = tmp_path_factory.mktemp("demo") / "demo.jsonl"
    assert main(["demo", "--out", str(file)]) == 0
    for line in file.read_bytes().splitlines():
        request = urllib.request.Request(
            f"{jaeger[0]}/v1/traces", line, {"content-type": "application/json"}, method="POST"
        )
        assert urllib.request.urlopen(request, timeout=30).status == 200
    return list(read(str(file)).traces)


def asked(address: str, until_spans: int) -> bytes:
    """What Jaeger answers, as soon as it has so many spans of the trace."""
    until = time.monotonic() + 20
    while True:
        with contextlib.suppress(urllib.error.HTTPError):
            answer = urllib.request.urlopen(address, timeout=10).read()
            if answer.lower().count(b'"spanid"') >= until_spans or time.monotonic() > until:
                return answer
        assert time.monotonic() < until, address
        time.sleep(0.1)


@pytest.mark.parametrize("api", ["api/v3/traces", "api/traces"])
def test_what_comes_back_is_what_was_sent(jaeger, sent, api, tmp_path):
    """Of each failing rollout: the same report, own failure, recovered ones, places and losses, times within 1 µs."""
    assert len(sent) > 5
    for trace in sent:
        file = tmp_path / f"{trace.trace_id}.json"
        file.write_bytes(asked(f"{jaeger[1]}/{api}/{trace.trace_id}", len(trace.failures)))
        (back,) = [each for each in read(str(file)).traces if each.trace_id == trace.trace_id]
        assert back.report == trace.report
        assert (back.root_cause, back.recovered, back.service) == (trace.root_cause, trace.recovered, trace.service)
        assert set(back.failures) == set(trace.failures)
        for key, failure in trace.failures.items():
            there = back.failures[key]
            assert (there.span.span_id, there.placement) == (failure.span.span_id, failure.placement)
            assert abs(there.time_unix_nano - failure.time_unix_nano) < 1000
        assert [hop.report for hop in back.hops] == [hop.report for hop in trace.hops]
        assert [loss.kind for loss in back.losses] == [loss.kind for loss in trace.losses]


def test_a_failure_is_found_by_its_id_and_its_kind(jaeger, sent):
    """A search by tag finds the trace, as a user of Jaeger's page would look for it."""
    trace = next(trace for trace in sent if trace.report.failure_id is not None)
    own = trace.report.events[trace.report.failure_id]
    for name, value in (("id", own.event_id), ("kind", own.failure_kind), ("boundary", own.boundary.value)):
        tags = urllib.parse.quote(json.dumps({f"nemo.gym.failure.{name}": value}))
        service = trace.failures[own.event_id].span.service
        found = urllib.request.urlopen(
            f"{jaeger[1]}/api/traces?service={service}&tags={tags}&limit=50", timeout=10
        ).read()
        assert trace.trace_id.encode() in found, name


def test_the_hop_that_failed_is_red(jaeger, sent):
    """What escaped or answered 500 has an error mark; a judge's failure behind a 200 has none."""
    for trace in sent:
        answer = json.loads(urllib.request.urlopen(f"{jaeger[1]}/api/traces/{trace.trace_id}", timeout=10).read())
        for span in answer["data"][0]["spans"]:
            tags = {tag["key"]: tag["value"] for tag in span["tags"]}
            if tags.get("span.kind") != "server" or "nemo.gym.failure.report.id" not in tags:
                continue
            status = tags.get("http.response.status_code") or tags.get("http.status_code")
            assert bool(tags.get("error")) is (int(status) >= 500), tags


def test_no_link_that_blanks_jaegers_page(jaeger, sent):
    """No same-trace link from an ordinary span, none to itself or its parent, no two to one target."""
    for trace in sent:
        answer = json.loads(urllib.request.urlopen(f"{jaeger[1]}/api/traces/{trace.trace_id}", timeout=10).read())
        for span in answer["data"][0]["spans"]:
            targets = [(each["traceID"], each["spanID"]) for each in span["references"]]
            assert len(targets) == len(set(targets))
            assert (span["traceID"], span["spanID"]) not in targets
            inside = [each for each in span["references"] if each["traceID"] == span["traceID"]]
            assert len(inside) <= 1 or span["operationName"] == "nemo.gym.failure"
