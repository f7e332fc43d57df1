"""Spans that the Collector accepted reach Jaeger even if both are killed; links find the cause."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

import pytest

from failgraph.cli import main
from failgraph.readers import read
from failgraph.semconv import CAUSE_SPAN_ID, REPORT_ROOT_SPAN_ID
from json_output import results_in
from real_backends import free_ports, running
from sdk_spans import sdk_spans
from shipped import CONFIG, collector, eventually, scrape

pytestmark = pytest.mark.needs("collector", "jaeger")


class Jaeger(NamedTuple):
    """The Jaeger of `jaeger.yaml`.

    Attributes:
        folder: Where its files are.
        query: URL of its UI and API.
        otlp: Address of its OTLP receiver.
        health: Address of its health check.
        ports: All of its ports.
    """

    folder: Path
    query: str
    otlp: str
    health: str
    ports: tuple[int, ...]

    @contextlib.contextmanager
    def started(self):
        """Run it; a second time it has its data again."""
        query, grpc, otlp, health = (f"127.0.0.1:{port}" for port in self.ports)
        env = {
            "JAEGER_DIR": str(self.folder / "kept"),
            "JAEGER_UI": str(CONFIG / "jaeger-ui.json"),
            "JAEGER_HTTP": query,
            "JAEGER_GRPC": grpc,
            "JAEGER_OTLP": otlp,
            "JAEGER_HEALTH": health,
        }
        config = CONFIG / "jaeger.yaml"
        with running("jaeger", config, folder=self.folder, ports=self.ports, env=env) as process:
            yield process

    def get(self, path: str) -> bytes:
        return urllib.request.urlopen(f"{self.query}/{path}", timeout=30).read()

    def span_ids(self, trace_id: str) -> set[str]:
        """Return the ids of the spans of a trace; none if it is unknown."""
        try:
            answer = json.loads(self.get(f"api/traces/{trace_id}"))
        except urllib.error.HTTPError:
            return set()
        return {span["spanID"] for span in answer["data"][0]["spans"]}


@pytest.fixture(scope="module")
def jaeger(tmp_path_factory) -> Jaeger:
    ports = tuple(free_ports(4))
    query, _, otlp, health = (f"http://127.0.0.1:{port}" for port in ports)
    return Jaeger(tmp_path_factory.mktemp("jaeger"), query, otlp, health, ports)


@pytest.fixture(scope="module")
def delivered(jaeger, tmp_path_factory, fleet_file):
    """Provide a Jaeger with the demo's spans, sent while a process was dead or about to die."""
    folder = tmp_path_factory.mktemp("collector")
    env = {"JAEGER_OTLP_HTTP": jaeger.otlp}
    sent = list(sdk_spans(fleet_file))
    third = len(sent) // 3
    wanted: dict[str, set[str]] = {}
    for span in sent:
        wanted.setdefault(f"{span.context.trace_id:032x}", set()).add(
            f"{span.context.span_id:016x}"
        )

    def arrived() -> int:
        return sum(len(jaeger.span_ids(trace_id) & spans) for trace_id, spans in wanted.items())

    with jaeger.started() as process:
        with collector(folder, "collector.yaml", env=env) as first:
            first.export(sent[:third])
            eventually(lambda: arrived() == third)
            process.kill()
            process.wait()
            first.export(sent[third : 2 * third])
            # The Collector keeps them on disk and tries again.
            eventually(
                lambda: any(
                    s.name == "otelcol_exporter_queue_size" and s.value
                    for s in scrape(first.own_metrics)
                )
            )
            first.kill()
    with collector(folder, "collector.yaml", env=env) as second:
        second.export(sent[2 * third :])
        second.kill()
    with jaeger.started(), collector(folder, "collector.yaml", env=env):
        eventually(lambda: arrived() == len(sent), 40)
        yield jaeger


@pytest.mark.parametrize("api", ["api/v3/traces", "api/traces"])
def test_nothing_is_lost_when_the_backend_and_the_collector_are_killed(
    delivered, fleet_file, api, tmp_path
):
    """After kill -9 with spans on their way, every report is complete, also in Jaeger's files."""
    traces = list(read(str(fleet_file)).traces)
    assert len(traces) == 7
    for trace in traces:
        file = tmp_path / f"{trace.trace_id}.json"
        file.write_bytes(delivered.get(f"{api}/{trace.trace_id}"))
        (back,) = [each for each in read(str(file)).traces if each.trace_id == trace.trace_id]
        assert back.report == trace.report
        assert (back.root_cause, back.recovered) == (trace.root_cause, trace.recovered)
        assert [hop.report for hop in back.hops] == [hop.report for hop in trace.hops]
        assert {loss.kind for loss in back.losses} <= {"duplicate"} | {
            loss.kind for loss in trace.losses
        }


def test_list_from_jaeger_equals_list_from_the_file(delivered, fleet_file, capsys):
    """The same traces, root causes and counts."""
    pytest.importorskip("httpx", reason="the command asks by httpx, which this set lacks")
    listed = []
    for source in (delivered.query, str(fleet_file)):
        assert main(["list", source, "--since", "1d", "--json"]) == 0
        rows = results_in(capsys.readouterr().out)
        listed.append(
            {row["trace_id"]: (row["root_cause"], row["count"], row["recovered"]) for row in rows}
        )
    assert listed[0] == listed[1]
    assert len(listed[0]) == 7


def test_the_health_check_of_jaeger(delivered):
    """The compose file uses it."""
    assert urllib.request.urlopen(f"{delivered.health}/status", timeout=10).status == 200


# --- jaeger-ui.json with the data that Jaeger's page gets; the page itself cannot be built here

PATTERNS = json.loads((CONFIG / "jaeger-ui.json").read_text())["linkPatterns"]


def filled(url: str, values: dict[str, str]) -> str:
    """Fill in the URL of a pattern as the page does."""
    return re.sub(r"#\{([^}]+)\}", lambda name: values[name[1]], url)


@pytest.mark.parametrize("pattern", PATTERNS, ids=[pattern["key"] for pattern in PATTERNS])
def test_a_link_of_jaegers_page_leads_to_its_span(delivered, fleet_file, pattern):
    """Wherever Jaeger shows the key, the URL can be filled in and leads to a span of that trace."""
    followed = 0
    for trace in read(str(fleet_file)).traces:
        (answer,) = json.loads(delivered.get(f"api/traces/{trace.trace_id}"))["data"]
        held = {
            "logs": [log["fields"] for span in answer["spans"] for log in span["logs"]],
            "tags": [span["tags"] for span in answer["spans"]],
        }
        for pairs in held[pattern["type"]]:
            values = {
                "trace.traceID": trace.trace_id,
                **{pair["key"]: pair["value"] for pair in pairs},
            }
            if pattern["key"] in values:
                target, find = re.fullmatch(
                    r"/trace/(\w{32})\?uiFind=(\w{16})", filled(pattern["url"], values)
                ).groups()
                assert find in delivered.span_ids(target)
                failures = {
                    span.span_id for span in (each.span for each in trace.failures.values())
                }
                assert find in failures
                followed += 1
    assert followed > 5


def test_cause_and_root_cause_have_a_link(delivered):
    """The cause of an event and the root cause of a hop."""
    assert [(pattern["type"], pattern["key"]) for pattern in PATTERNS] == [
        ("logs", CAUSE_SPAN_ID),
        ("tags", REPORT_ROOT_SPAN_ID),
    ]
