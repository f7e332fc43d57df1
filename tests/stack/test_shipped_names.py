"""Every name in `collector-config/` exists: attributes, services, ports, data sources.

Grafana and Tempo cannot be run here: their files are parsed and compared with the others. The other
programs are run by test_delivery, test_failure_metrics, test_sampling, test_collector_redaction,
test_alerts and test_compose.
"""

from __future__ import annotations

import itertools
import json
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from failgraph import semconv
from failgraph.failure.records import FailureBoundary, ModelFailureDetails, SandboxFailureDetails
from failgraph.view.trace_urls import GRAFANA_DATA_SOURCE
from shipped import CONFIG

pytestmark = pytest.mark.once

COMPOSE = CONFIG.parent / "docker-compose.yml"
FILES = sorted(path for path in CONFIG.rglob("*") if path.is_file())
DASHBOARDS = sorted((CONFIG / "grafana" / "dashboards").glob("*.json"))

TEXTS = {value for value in vars(semconv).values() if isinstance(value, str)} - {
    semconv.PREFIX,
    semconv.REST,
}
HOP = {value for name, value in vars(semconv).items() if name.startswith("REPORT_")} | {
    semconv.ROLLOUT_ID
}
DETAILS = {
    *(semconv.SANDBOX + field for field in SandboxFailureDetails.model_fields),
    *(semconv.MODEL + field for field in ModelFailureDetails.model_fields),
}
EVENT = (TEXTS - HOP - {semconv.EVENT_NAME, semconv.FAILURE_SPAN}) | DETAILS
METRICS = {
    "nemo.gym.failures",
    "nemo.gym.hops.failed",
    "nemo.gym.hops.recovered",
    "nemo.gym.rollout",
}
OUTCOME = "nemo.gym.rollout.outcome"


def parsed(path: Path) -> Any:
    return (
        json.loads(path.read_text()) if path.suffix == ".json" else yaml.safe_load(path.read_text())
    )


def leaves(value: Any) -> Iterator[str]:
    """Yield all keys and texts of a document."""
    if isinstance(value, dict):
        yield from itertools.chain.from_iterable(
            (str(key), *leaves(each)) for key, each in value.items()
        )
    elif isinstance(value, list):
        yield from itertools.chain.from_iterable(map(leaves, value))
    elif isinstance(value, str):
        yield value


def traceql() -> Iterator[tuple[str, str]]:
    """Yield each TraceQL query with its file: examples, those of dashboards, and those of links."""
    for query in re.findall(
        r"```traceql\n(.*?)\n```", (CONFIG / "traceql.md").read_text(), re.DOTALL
    ):
        yield "traceql.md", query
    for path in DASHBOARDS:
        for panel in parsed(path)["panels"]:
            for target in panel["targets"]:
                if target["datasource"]["type"] == "tempo":
                    yield path.name, target["query"]
            for link in panel["fieldConfig"]["defaults"].get("links", ()):
                yield path.name, explored(link["url"])["queries"][0]["query"]


def explored(url: str) -> dict[str, Any]:
    """Return the pane of Grafana's Explore that a URL opens."""
    (panes,) = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["panes"]
    (pane,) = json.loads(panes).values()
    return pane


def test_every_file_has_a_test():
    """A new file needs a test, and then a line here."""
    assert {str(path.relative_to(CONFIG)) for path in FILES} == {
        "alerts.yaml",
        "collector-tempo.yaml",
        "collector.yaml",
        "failure-metrics.yaml",
        "grafana/dashboards.yaml",
        "grafana/dashboards/failures.json",
        "grafana/datasources.yaml",
        "jaeger-ui.json",
        "jaeger.yaml",
        "prometheus.yaml",
        "redaction.yaml",
        "scale/balancer.yaml",
        "scale/sampler.yaml",
        "tail-sampling.yaml",
        "tempo.yaml",
        "traceql.md",
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_attribute_exists(path):
    """failgraph writes it, or failure-metrics.yaml makes it."""
    named = set(re.findall(r"nemo\.gym\.[a-z_]+(?:\.[a-z_]+)*", path.read_text()))
    assert named <= TEXTS | DETAILS | METRICS | {OUTCOME}, named
    made = (CONFIG / "failure-metrics.yaml").read_text()
    assert all(f"{name}" in made for name in (*METRICS, OUTCOME))


def test_traceql_queries_are_plausible():
    """Attributes are of events or hops, braces and quotes close, boundaries are one of seven."""
    queries = list(traceql())
    assert len(queries) > 12
    for file, query in queries:
        bare = re.sub(r'"[^"]*"', '""', query)
        assert bare.count("{") == bare.count("}") == bare.count("{ ") >= 1, (file, query)
        assert query.count('"') % 2 == 0
        for scope, known in (("event", EVENT), ("span", HOP)):
            named = set(re.findall(rf"\b{scope}\.([a-z_.]+)", bare))
            assert named <= known, (file, query, named - known)
        for value in re.findall(r'boundar\w+ = "([^"$]+)"', query):
            assert value in {each.value for each in FailureBoundary}
        assert set(re.findall(r'event:name = "([^"]*)"', query)) <= {semconv.EVENT_NAME}


def test_every_data_source_is_provisioned():
    """By uid and type: in panels, variables, links into Explore, and the URLs of failgraph."""
    sources = {
        each["uid"]: each["type"]
        for each in parsed(CONFIG / "grafana" / "datasources.yaml")["datasources"]
    }
    assert sources[GRAFANA_DATA_SOURCE] == "tempo"
    for path in DASHBOARDS:
        dashboard = parsed(path)
        panels = dashboard["panels"]
        named = [each["datasource"] for each in (*panels, *dashboard["templating"]["list"])]
        named += [target["datasource"] for panel in panels for target in panel["targets"]]
        for panel in panels:
            for link in panel["fieldConfig"]["defaults"].get("links", ()):
                named += [query["datasource"] for query in explored(link["url"])["queries"]]
        assert len(named) > 20
        assert all(sources[each["uid"]] == each["type"] for each in named)


def test_every_variable_of_a_dashboard_exists():
    """It is the dashboard's, Grafana's, or a label of the panel's query."""
    for path in DASHBOARDS:
        dashboard = parsed(path)
        own = {each["name"] for each in dashboard["templating"]["list"]}
        for panel in dashboard["panels"]:
            text = json.dumps(panel)
            plain = set(re.findall(r"\$(\w+)", text))
            assert plain <= own | {"__range", "__rate_interval"}, panel["title"]
            for label in re.findall(r"\$\{__field\.labels\.(\w+)\}", text):
                assert any(label in target.get("expr", "") for target in panel["targets"]), panel[
                    "title"
                ]
            rest = set(re.findall(r"\$\{([\w.]+)\}", text))
            assert all(
                name in ("__from", "__to") or name.startswith("__field.labels.") for name in rest
            )


def listens(service: str) -> set[int]:
    """Return the ports that a service of the compose file listens on, by its configuration."""
    if service == "prometheus":
        return {9090}  # its default
    found = set()
    for name in {"collector": ("collector", "failure-metrics")}.get(service, (service,)):
        text = (CONFIG / f"{name}.yaml").read_text()
        found |= {
            int(port)
            for port in re.findall(r"(?:0\.0\.0\.0:|http_listen_port: |METRICS_PORT:-)(\d+)", text)
        }
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_address_is_of_a_service_that_listens(path):
    """It names a service of the compose file and a port of that service's configuration."""
    if path.suffix == ".md":
        return
    services = parsed(COMPOSE)["services"]
    for text in leaves(parsed(path)):
        for host, port in re.findall(r"(?<![\w.$-])([a-z][a-z-]*(?:-\d)?):(\d{4,5})\b", text):
            if host.startswith("sampler-"):
                continue  # of a tier that the compose file lacks; test_sampling runs two
            if host == "localhost":
                published = {
                    word.split(":")[1]
                    for service in services.values()
                    for word in service.get("ports", ())
                }
                assert port in published
                continue
            assert host in services, text
            assert int(port) in listens(host), text


def test_tempos_configuration():
    """It receives OTLP over HTTP, cuts no text of failgraph, and stores on its volume."""
    tempo = parsed(CONFIG / "tempo.yaml")
    assert (
        tempo["distributor"]["receivers"]["otlp"]["protocols"]["http"]["endpoint"] == "0.0.0.0:4318"
    )
    assert tempo["distributor"]["max_attribute_bytes"] > semconv.CHUNK_BYTES
    (mount,) = [
        each
        for each in parsed(COMPOSE)["services"]["tempo"]["volumes"]
        if each.startswith("tempo:")
    ]
    for part in ("wal", "local"):
        assert tempo["storage"]["trace"][part]["path"].startswith(mount.split(":")[1])


def test_every_file_begins_with_a_comment():
    """If its format has comments."""
    assert all(
        path.read_text().startswith("# ") for path in (*FILES, COMPOSE) if path.suffix != ".json"
    )
