"""Real NeMo Gym 0.7.0: a fleet of its servers, its own collection, and of each fault exactly the failures it is."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from failgraph import FailureEvent
from gym_fleet import Fleet, agent_row, env_row, overlay, place, running

ATTEMPT = "nemo.gym.rollout_attempt"
ROLLOUT_ID = "nemo.gym.rollout.id"
ON = {"FAILGRAPH_ENABLED": "true"}
AUTO = {
    **ON,
    "FAILGRAPH_AUTO_INSTRUMENT": "true",
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_METRICS_EXPORTER": "none",
    "OTEL_LOGS_EXPORTER": "none",
}
LENS = {
    **ON,
    "NEMO_GYM_OTEL_ENABLED": "1",
    "NEMO_GYM_OTEL_SPAN_GROUPS": "all",
    "NEMO_GYM_OTEL_METRICS_ENABLED": "0",
    "NEMO_GYM_OTEL_EXPORTER": "otlp",
    "NEMO_GYM_OTEL_RUN_ID": "run",
}


class Case(NamedTuple):
    """A row, and what has to be in the trace of its rollout."""

    row: dict[str, Any]
    own: list[str]
    """The chain of the rollout's own failure, down to the root cause: boundary, kind, stage and status of each."""
    recovered: list[str]
    status: str | None = None


MODEL_500 = "model provider_unavailable - 500"
UP = "collection agent_run_error - 500"
AGENT = "agent agent_run_error agent 500"


def verified(*below: str) -> list[str]:
    return [UP, "agent agent_run_error verification 500", *below]


VERIFIER = "resources_server verifier_error verification -"

CASES = {
    "fine": Case(agent_row("fine"), [], []),
    "model-429-then-ok": Case(agent_row("[[up:a:429,ok]]"), [], ["model provider_unavailable - 429"]),
    "model-500": Case(agent_row("[[up:b:500]]"), [UP, AGENT, MODEL_500], [MODEL_500] * 2),
    "model-400": Case(agent_row("[[up:b4:400]]"), [UP, AGENT, "model upstream_request_failed - 400"], []),
    "model-bad-json": Case(agent_row("[[up:c:badjson]]"), [UP, AGENT, "model protocol_violation - -"], []),
    "model-bad-schema": Case(agent_row("[[up:d:badschema]]"), [UP, AGENT, "model protocol_violation - -"], []),
    "model-cut": Case(agent_row("[[up:e:dropmid]]"), [UP, AGENT, "model transport_peer_drop - -"], []),
    "model-dropped-once": Case(agent_row("[[up:f:drop,ok]]"), [], ["model transport_peer_drop - -"]),
    "tool": Case(agent_row("[[up:j:tool=boom,ok]]"), [], ["resources_server unhandled_exception agent -"]),
    "unknown-tool": Case(agent_row("[[up:k:tool=nothing,ok]]"), [], []),
    "judge": Case(
        agent_row("x", judge="[[up:l:500]]"),
        ["resources_server judge_failed verification -", MODEL_500],
        [MODEL_500] * 2,
    ),
    "judge-bad-json": Case(
        agent_row("x", judge="[[up:m:badjson]]"),
        ["resources_server judge_failed verification -", "model protocol_violation - -"],
        [],
    ),
    "verify": Case(agent_row("x", rs_fault="verify"), verified(VERIFIER), []),
    "verify-503": Case(
        agent_row("x", rs_fault="http503"),
        [UP, "agent agent_run_error verification 503", "resources_server verifier_error verification 503"],
        [],
    ),
    "named": Case(agent_row("x", rs_fault="named"), [VERIFIER], []),
    "seed": Case(
        agent_row("x", rs_fault="seed"),
        [UP, "agent agent_run_error seed 500", "resources_server unhandled_exception seed -"],
        [],
    ),
    "agent": Case(agent_row("x", agent_fault=True), [UP, "agent agent_run_error agent -"], []),
    "sandbox-start": Case(
        agent_row("x", rs_fault="sandbox-start"), verified(VERIFIER, "sandbox provider_unavailable - -"), []
    ),
    "sandbox-exec": Case(
        agent_row("x", rs_fault="sandbox-exec"), verified(VERIFIER, "sandbox transport_peer_drop - -"), []
    ),
    "sandbox-stop": Case(
        agent_row("x", rs_fault="sandbox-stop"), verified(VERIFIER, "sandbox session_release_failed cleanup -"), []
    ),
    "sandbox-timeout": Case(agent_row("x", rs_fault="sandbox-timeout"), [], ["sandbox sandbox:timeout - -"]),
    "sandbox-oom": Case(agent_row("x", rs_fault="sandbox-oom"), [], ["sandbox provider_oom_killed - -"]),
    "handled": Case(env_row("h", fault="handled"), ["environment provider_quota_exhausted seed -"], []),
    "unhandled": Case(env_row("u", fault="unhandled"), ["environment environment_server_failed - -"], []),
    "deadline": Case(env_row("d", fault="deadline"), ["environment environment_server_failed - -"], []),
    "returned": Case(env_row("r", fault="returned"), ["environment session_lost - -"], []),
    "cleanup": Case(env_row("c", fault="cleanup"), [], ["environment session_release_failed cleanup -"]),
}
NAMES = list(CASES)


class Run(NamedTuple):
    """What one collection left behind."""

    rows: dict[int, dict[str, Any]]
    """The saved rows, by the index of the task."""
    rollouts: dict[int, Any]
    """The hops of the collector's attempts, likewise."""
    traces: list[Any]


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    return overlay(tmp_path_factory.mktemp("gym"), place())


def run(folder: Path, python: Path, environ: dict[str, str]) -> Run:
    with running(folder, python, environ) as fleet:
        rows = fleet.collect("out", [case.row for case in CASES.values()])
        traces = fleet.traces()
        hops = [hop for trace in traces for hop in trace.hops if hop.span.name == ATTEMPT]
        assert len(rows) == len(CASES)
        plain = {row["_ng_task_index"]: json.loads(without_ports(fleet, json.dumps(row))) for row in rows}
    return Run(plain, {int(hop.span.attributes[ROLLOUT_ID].partition("-")[0]): hop for hop in hops}, traces)


def without_ports(fleet: Fleet, text: str) -> str:
    for name, port in fleet.ports.items():
        text = re.sub(rf"(?<=:){port}\b", name, text)
    return text


@pytest.fixture(scope="module", params=["auto", "lens"])
def ran(request, python, tmp_path_factory) -> Run:
    """All cases in one collection, with OpenTelemetry's auto-instrumentation and with Gym's own telemetry."""
    return run(tmp_path_factory.mktemp(request.param), python, {"auto": AUTO, "lens": LENS}[request.param])


@pytest.fixture(scope="module")
def bare(python, tmp_path_factory) -> Run:
    """The same without failgraph and without telemetry."""
    return run(tmp_path_factory.mktemp("bare"), python, {})


def said(event: FailureEvent) -> str:
    return f"{event.boundary.value} {event.failure_kind} {event.stage or '-'} {event.http_status or '-'}"


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_is_in_its_rollout_exactly_once(ran, name):
    """The rollout's report holds the own failure with its causes, and what was recovered, and nothing else."""
    case, hop = CASES[name], ran.rollouts.get(NAMES.index(name))
    events = hop.report.events if hop is not None and hop.report is not None else {}
    chain, here = [], hop.report.failure_id if events else None
    while here is not None:
        chain.append(here)
        here = events[here].cause_id
    assert [said(events[key]) for key in chain] == case.own
    assert sorted(said(event) for key, event in events.items() if key not in chain) == case.recovered


def test_nothing_else_is_in_the_traces(ran):
    """All failures of all traces are those of the cases, none twice, none outside its rollout, none unreported."""
    expected = Counter(what for case in CASES.values() for what in (*case.own, *case.recovered))
    found = [failure.event for trace in ran.traces for failure in trace.failures.values()]
    assert Counter(map(said, found)) == expected
    assert len({event.event_id for event in found}) == len(found)
    assert [hop.unreported for trace in ran.traces for hop in trace.hops if hop.unreported] == []


def test_what_ended_no_rollout_is_recovered(ran):
    """Recovered are the failures of which no rollout died, in one trace a rollout and in one for all."""
    recovered = Counter(
        said(failure.event)
        for trace in ran.traces
        for key, failure in trace.failures.items()
        if trace.recovered is not None and key in trace.recovered
    )
    assert recovered == Counter(what for case in CASES.values() for what in case.recovered)


def test_saved_rows_are_those_of_a_run_without_failgraph(ran, bare):
    """Outcomes, retries and scores are untouched."""
    assert ran.rows == bare.rows
