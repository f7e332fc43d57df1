"""`failure-metrics.yaml` in a real Collector: metrics equal the reports, labels are names."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from failgraph.failure.kinds import OTHER
from failgraph.readers import Trace, read, spans
from failgraph.semconv import (
    BOUNDARY,
    ERROR_TYPE,
    EVENT_NAME,
    ID,
    REMOTE,
    REPORT_ID,
    REPORT_ROOT_KIND,
)
from real_backends import free_ports
from sdk_spans import sdk_spans
from shipped import CONFIG, Series, collector, eventually, scrape

pytestmark = pytest.mark.needs("collector")

FAILURES, FAILED, RECOVERED = (
    "nemo_gym_failures_total",
    "nemo_gym_hops_failed_total",
    "nemo_gym_hops_recovered_total",
)
ROLLOUTS = "nemo_gym_rollout_calls_total"
ROOT_KIND, OUTCOME = "nemo_gym_failure_report_root_kind", "nemo_gym_rollout_outcome"


def odd_spans() -> list[ReadableSpan]:
    """Return a trace with a peer's copy, and a hop whose root cause has free text as its kind."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("test").start_as_current_span("odd") as span:
        for remote in ({}, {REMOTE: True}):
            span.add_event(EVENT_NAME, {ID: "1", BOUNDARY: "agent", ERROR_TYPE: OTHER, **remote})
        span.set_attributes({REPORT_ID: "1", REPORT_ROOT_KIND: 'No name, "but" a text\n'})
    return list(exporter.get_finished_spans())


@pytest.fixture(scope="module")
def counting(tmp_path_factory, fleet_file):
    """Provide a Collector that has got the demo's spans and the odd ones."""
    env = {"METRICS_FLUSH": "100ms"}
    with collector(
        tmp_path_factory.mktemp("counting"), "collector.yaml", "failure-metrics.yaml", env=env
    ) as running:
        running.export([*sdk_spans(fleet_file), *odd_spans()])
        eventually(
            lambda: (
                sum(each.value for each in scrape(running.failure_metrics) if each.name == ROLLOUTS)
                == 9
            )
        )
        yield running


@pytest.fixture(scope="module")
def counted(counting) -> list[Series]:
    """Return what Prometheus would scrape, without the odd trace."""
    found = scrape(counting.failure_metrics)
    return [each for each in found if not each.labels.get("job", "").startswith("unknown_service")]


@pytest.fixture(scope="module")
def traces(fleet_file) -> list[Trace]:
    return list(read(str(fleet_file)).traces)


def by(counted: list[Series], name: str, *labels: str) -> Counter:
    found = Counter()
    for each in counted:
        if each.name == name:
            found[tuple(each.labels[label] for label in labels)] += each.value
    return found


def test_failures_are_counted_once_by_boundary_kind_and_stage(counted, traces):
    """For each service, boundary, kind and stage, the counter equals the reports of all traces."""
    expected = Counter()
    for trace in traces:
        for key, event in trace.report.events.items():
            stage = "none" if event.stage is None else event.stage
            service = trace.failures[key].span.service
            expected[service, event.boundary.value, event.failure_kind, stage] += 1
    assert (
        by(
            counted,
            FAILURES,
            "job",
            "nemo_gym_failure_boundary",
            "error_type",
            "nemo_gym_failure_stage",
        )
        == expected
    )
    assert expected.total() == 19


def test_hops_are_counted_by_outcome(counted, traces):
    """Failed hops have an own failure, recovered ones only others; by kind of the root cause."""
    failed, recovered = Counter(), Counter()
    for trace in traces:
        for hop in trace.hops:
            if hop.report is not None:
                kind = hop.span.attributes[REPORT_ROOT_KIND]
                (recovered if hop.report.failure_id is None else failed)[
                    hop.span.service, kind
                ] += 1
    assert by(counted, FAILED, "job", ROOT_KIND) == failed
    assert by(counted, RECOVERED, "job", ROOT_KIND) == recovered
    assert failed.total() > recovered.total() > 0


def test_rollouts_are_counted_and_timed_by_outcome(counted, traces, fleet_file):
    """One per trace, with or without failures; the durations are those of the root spans."""
    expected = Counter({"clean": 1})
    for trace in traces:
        expected["recovered" if trace.report.failure_id is None else "failed"] += 1
    assert by(counted, ROLLOUTS, OUTCOME) == {
        (outcome,): number for outcome, number in expected.items()
    }
    seconds = (
        sum(span.duration_nano for span in spans(str(fleet_file)) if span.parent_span_id is None)
        / 1e9
    )
    assert by(counted, "nemo_gym_rollout_duration_seconds_sum").total() == pytest.approx(seconds)
    roots = by(counted, ROLLOUTS, OUTCOME, ROOT_KIND)
    assert roots["clean", "none"] == 1
    assert {kind for outcome, kind in roots if outcome == "failed"} == {
        trace.report.events[trace.root_cause].failure_kind
        for trace in traces
        if trace.report.failure_id is not None
    }


def test_copies_are_not_counted_and_free_text_is_not_a_label(counting):
    """The odd trace counts as one failure, with `_OTHER` as the kind of the root cause."""
    odd = [
        each
        for each in scrape(counting.failure_metrics)
        if each.labels.get("job", "").startswith("unknown_service")
    ]
    assert by(odd, FAILURES, "error_type") == {(OTHER,): 1}
    assert by(odd, FAILED, ROOT_KIND) == {(OTHER,): 1}
    assert by(odd, ROLLOUTS, OUTCOME, ROOT_KIND) == {("failed", OTHER): 1}


def test_the_health_check_of_the_collector(counting):
    """It is on the port that the compose file publishes for it."""
    assert urllib.request.urlopen(f"http://{counting.health}/", timeout=10).status == 200


def test_labels_are_names(counting):
    """Only service, boundary, kind, stage, outcome and bucket are labels; no id, no free text."""
    for each in scrape(counting.failure_metrics):
        if each.name.startswith("nemo_gym"):
            allowed = {"job", "le", "error_type", OUTCOME, ROOT_KIND}
            assert each.labels.keys() <= allowed | {
                "nemo_gym_failure_boundary",
                "nemo_gym_failure_stage",
            }


@pytest.mark.parametrize("file", ["alerts.yaml", "grafana/dashboards/failures.json"])
def test_metrics_and_labels_of_alerts_and_dashboards_exist(counting, file):
    """The Collector exposes exactly these names."""
    found = scrape(counting.failure_metrics)
    known = {each.name for each in found} | set().union(*(each.labels for each in found))
    named = set(re.findall(r"nemo_gym_\w+", (CONFIG / file).read_text()))
    assert len(named) > 3
    assert named <= known


class Refuses(http.server.BaseHTTPRequestHandler):
    """A backend that rejects every request."""

    def do_POST(self):
        self.send_error(400)

    def log_message(self, *_):
        pass


def test_metrics_of_the_collector_in_alerts_exist(tmp_path):
    """If a backend rejects spans and the queue is full, it exposes the metrics of `alerts.yaml`."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuses)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    queue = "{block_on_overflow: false, queue_size: 20000, batch: null}"
    small = f"exporters: {{otlp_http/jaeger: {{sending_queue: {queue}}}}}"
    env = {"JAEGER_OTLP_HTTP": f"http://127.0.0.1:{server.server_port}"}
    wanted = set(re.findall(r"otelcol_\w+", (CONFIG / "alerts.yaml").read_text()))
    assert len(wanted) == 4
    try:
        with collector(tmp_path, "collector.yaml", env=env, more=small) as running:
            running.export(odd_spans())
            exporter = OTLPSpanExporter(endpoint=f"http://{running.otlp_http}/v1/traces", timeout=1)
            assert (
                exporter.export(odd_spans() * 100) is SpanExportResult.FAILURE
            )  # larger than the queue
            eventually(lambda: wanted <= {each.name for each in scrape(running.own_metrics)})
    finally:
        server.shutdown()
        server.server_close()


# --- in a real Prometheus

prometheus = pytest.mark.needs("prometheus")


@pytest.fixture(scope="module")
def prometheus_url(counting, tmp_path_factory):
    """Run Prometheus with `prometheus.yaml`; only targets and interval differ."""
    folder: Path = tmp_path_factory.mktemp("prometheus")
    text = (CONFIG / "prometheus.yaml").read_text()
    for there, here in (
        ("collector:9464", counting.failure_metrics),
        ("collector:8888", counting.own_metrics),
        (": 15s", ": 200ms"),
    ):
        assert there in text
        text = text.replace(there, here)
    (folder / "prometheus.yaml").write_text(text)
    shutil.copy(CONFIG / "alerts.yaml", folder)
    (port,) = free_ports(1)
    command = [
        "prometheus",
        "--config.file=prometheus.yaml",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: urllib.request.urlopen(f"{url}/-/ready", timeout=5).status == 200)
        yield url
    finally:
        process.kill()
        process.wait()


def asked(url: str, path: str, **query: str) -> list[dict]:
    answer = urllib.request.urlopen(
        f"{url}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=10
    ).read()
    return json.loads(answer)["data"]


@prometheus
def test_prometheus_scrapes_both(prometheus_url):
    """Both targets are up, and `job` is the service that failed, not the scraped target."""
    found = eventually(
        lambda: asked(prometheus_url, "query", query=f"sum by (job) ({FAILURES})")["result"]
    )
    assert {each["metric"]["job"] for each in found} >= {
        "agent",
        "model",
        "environment",
        "resources",
        "collector",
    }

    def health() -> set[tuple[str, str]]:
        targets = asked(prometheus_url, "targets")["activeTargets"]
        return {(each["labels"]["job"], each["health"]) for each in targets}

    assert eventually(lambda: health() == {("failures", "up"), ("collector", "up")})


@prometheus
def test_every_query_of_the_dashboard_finds_series(prometheus_url):
    """Each panel's expression is valid with Grafana's variables filled in."""
    time.sleep(0.5)  # two scrapes, which a rate needs
    dashboard = json.loads((CONFIG / "grafana" / "dashboards" / "failures.json").read_text())
    expressions = [
        target["expr"]
        for panel in dashboard["panels"]
        for target in panel["targets"]
        if "expr" in target
    ]
    assert len(expressions) > 8
    for expression in expressions:
        filled = (
            expression.replace("$__rate_interval", "1m")
            .replace("$__range", "1h")
            .replace("$service", ".*")
        )
        assert "$" not in filled
        assert eventually(
            lambda filled=filled: asked(prometheus_url, "query", query=filled)["result"]
        ), filled


@prometheus
def test_the_alerts_are_loaded(prometheus_url):
    """Prometheus evaluates each rule without an error."""

    def healthy() -> bool:
        groups = asked(prometheus_url, "rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        return bool(rules) and all(rule["health"] == "ok" for rule in rules)

    assert eventually(healthy)
