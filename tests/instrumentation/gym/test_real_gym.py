"""A fleet of real NeMo Gym 0.7.0 servers and its collection: each fault is recorded once."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from failgraph import FailureEvent
from gym_fleet import Fleet, agent_row, configuration, env_row, overlay, running, with_turn
from real_programs import require

pytestmark = pytest.mark.needs("gym")

ATTEMPT = "nemo.gym.rollout_attempt"
ROLLOUT_ID = "nemo.gym.rollout.id"
ON = {"FAILGRAPH_ENABLED": "true"}
OTLP = {
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_METRICS_EXPORTER": "none",
    "OTEL_LOGS_EXPORTER": "none",
}
AUTO = {**ON, **OTLP, "FAILGRAPH_AUTO_INSTRUMENT": "true"}
LENS = {
    **ON,
    "NEMO_GYM_OTEL_ENABLED": "1",
    "NEMO_GYM_OTEL_SPAN_GROUPS": "all",
    "NEMO_GYM_OTEL_METRICS_ENABLED": "0",
    "NEMO_GYM_OTEL_EXPORTER": "otlp",
    "NEMO_GYM_OTEL_RUN_ID": "run",
}


class Case(NamedTuple):
    """A row, and what has to be in the trace of its rollout.

    Attributes:
        row: What is collected.
        own: The chain of the rollout's own failure, down to the root cause, as by `summary`.
        recovered: Other failures, sorted.
    """

    row: dict[str, Any]
    own: list[str]
    recovered: list[str]


MODEL_500 = "model provider_unavailable - 500"
UP = "collection agent_run_error - 500"
AGENT = "agent agent_run_error agent 500"


def verified(*below: str) -> list[str]:
    return [UP, "agent agent_run_error verification 500", *below]


VERIFIER = "resources_server verifier_error verification -"

CASES = {
    "fine": Case(agent_row("fine"), [], []),
    "model-429-then-ok": Case(
        agent_row("[[up:a:429,ok]]"), [], ["model provider_unavailable - 429"]
    ),
    "model-500": Case(agent_row("[[up:b:500]]"), [UP, AGENT, MODEL_500], [MODEL_500] * 2),
    "model-400": Case(
        agent_row("[[up:b4:400]]"), [UP, AGENT, "model upstream_request_failed - 400"], []
    ),
    "model-bad-json": Case(
        agent_row("[[up:c:badjson]]"), [UP, AGENT, "model protocol_violation - -"], []
    ),
    "model-bad-schema": Case(
        agent_row("[[up:d:badschema]]"), [UP, AGENT, "model protocol_violation - -"], []
    ),
    "model-cut": Case(
        agent_row("[[up:e:dropmid]]"), [UP, AGENT, "model transport_peer_drop - -"], []
    ),
    "model-dropped-once": Case(
        agent_row("[[up:f:drop,ok]]"), [], ["model transport_peer_drop - -"]
    ),
    "tool": Case(
        agent_row("[[up:j:tool=boom,ok]]"), [], ["resources_server unhandled_exception agent -"]
    ),
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
        [
            UP,
            "agent agent_run_error verification 503",
            "resources_server verifier_error verification 503",
        ],
        [],
    ),
    "named": Case(agent_row("x", rs_fault="named"), [VERIFIER], []),
    "by-hand": Case(
        agent_row("x", rs_fault="by-hand"), verified("resources_server verifier_error - -"), []
    ),
    "seed": Case(
        agent_row("x", rs_fault="seed"),
        [UP, "agent agent_run_error seed 500", "resources_server unhandled_exception seed -"],
        [],
    ),
    "agent": Case(agent_row("x", agent_fault=True), [UP, "agent agent_run_error agent -"], []),
    "sandbox-start": Case(
        agent_row("x", rs_fault="sandbox-start"),
        verified(VERIFIER, "sandbox provider_unavailable - -"),
        [],
    ),
    "sandbox-exec": Case(
        agent_row("x", rs_fault="sandbox-exec"),
        verified(VERIFIER, "sandbox transport_peer_drop - -"),
        [],
    ),
    "sandbox-stop": Case(
        agent_row("x", rs_fault="sandbox-stop"),
        verified(VERIFIER, "sandbox session_release_failed cleanup -"),
        [],
    ),
    "sandbox-timeout": Case(
        agent_row("x", rs_fault="sandbox-timeout"), [], ["sandbox sandbox:timeout - -"]
    ),
    "sandbox-oom": Case(
        agent_row("x", rs_fault="sandbox-oom"), [], ["sandbox provider_oom_killed - -"]
    ),
    "sandbox-pty": Case(
        agent_row("x", rs_fault="sandbox-pty"), [], ["sandbox sandbox:timeout - -"]
    ),
    "handled": Case(
        env_row("h", fault="handled"), ["environment provider_quota_exhausted seed -"], []
    ),
    "unhandled": Case(
        env_row("u", fault="unhandled"), ["environment environment_server_failed - -"], []
    ),
    "deadline": Case(
        env_row("d", fault="deadline"), ["environment environment_server_failed - -"], []
    ),
    "returned": Case(env_row("r", fault="returned"), ["environment session_lost - -"], []),
    "cleanup": Case(
        env_row("c", fault="cleanup"), [], ["environment session_release_failed cleanup -"]
    ),
    "cleanup-slow": Case(
        env_row("s", fault="cleanup-slow"), [], ["environment session_release_failed cleanup -"]
    ),
}
NAMES = list(CASES)


class Run(NamedTuple):
    """The results of one collection.

    Attributes:
        rows: The saved rows, by the index of their task.
        rollouts: The hops of the collector's attempts, by the same index.
        traces: All traces.
    """

    rows: dict[int, dict[str, Any]]
    rollouts: dict[int, Any]
    traces: list[Any]


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    return overlay(tmp_path_factory.mktemp("gym"), require("gym"))


def run(fleet: Fleet) -> Run:
    rows = fleet.collect("out", [case.row for case in CASES.values()])
    assert len(rows) == len(CASES)
    plain = {
        row["_ng_task_index"]: json.loads(without_ports(fleet, json.dumps(row))) for row in rows
    }
    traces = fleet.traces()
    return Run(
        plain,
        {int(hop.span.attributes[ROLLOUT_ID].partition("-")[0]): hop for hop in attempts(traces)},
        traces,
    )


def attempts(traces: list[Any]) -> list[Any]:
    """Return the hops of the collector's attempts."""
    return [hop for trace in traces for hop in trace.hops if hop.span.name == ATTEMPT]


def without_ports(fleet: Fleet, text: str) -> str:
    for name, port in fleet.ports.items():
        text = re.sub(rf"(?<=:){port}\b", name, text)
    return text


@pytest.fixture(scope="module")
def auto(python, tmp_path_factory) -> Iterator[Fleet]:
    """Run a fleet with OpenTelemetry's auto-instrumentation."""
    with running(tmp_path_factory.mktemp("auto"), python, AUTO) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def run_auto(auto) -> Run:
    return run(auto)


@pytest.fixture(scope="module")
def run_lens(python, tmp_path_factory) -> Run:
    with running(tmp_path_factory.mktemp("lens"), python, LENS) as fleet:
        return run(fleet)


@pytest.fixture(params=["auto", "lens"])
def ran(request) -> Run:
    """Collect all cases at once, with auto-instrumentation and with Gym's own telemetry."""
    return request.getfixturevalue(f"run_{request.param}")


@pytest.fixture(scope="module")
def bare(python, tmp_path_factory) -> Run:
    """Collect them without failgraph and without telemetry."""
    with running(tmp_path_factory.mktemp("bare"), python, {}) as fleet:
        return run(fleet)


def summary(event: FailureEvent) -> str:
    """Return boundary, kind, stage and HTTP status in one line."""
    optional = (event.stage or "-", event.http_status or "-")
    return " ".join(map(str, (event.boundary.value, event.failure_kind, *optional)))


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_is_in_its_rollout_exactly_once(ran, name):
    """The rollout's report has the own failure, its causes and recovered failures, nothing else."""
    case, hop = CASES[name], ran.rollouts.get(NAMES.index(name))
    events = hop.report.events if hop is not None and hop.report is not None else {}
    chain, here = [], hop.report.failure_id if events else None
    while here is not None:
        chain.append(here)
        here = events[here].cause_id
    assert [summary(events[key]) for key in chain] == case.own
    assert (
        sorted(summary(event) for key, event in events.items() if key not in chain)
        == case.recovered
    )


def test_nothing_else_is_in_the_traces(ran):
    """No failure is there twice, outside of its rollout, or unreported."""
    expected = Counter(what for case in CASES.values() for what in (*case.own, *case.recovered))
    found = [failure.event for trace in ran.traces for failure in trace.failures.values()]
    assert Counter(map(summary, found)) == expected
    assert len({event.event_id for event in found}) == len(found)
    assert [hop.unreported for trace in ran.traces for hop in trace.hops if hop.unreported] == []


def test_an_agents_hop_names_its_rollout(ran):
    """The id is that of the attempt above it and of the saved row."""
    spans = [
        hop.span for trace in ran.traces for hop in trace.hops if hop.span.service.endswith("agent")
    ]
    runs = [span for span in spans if span.name == "POST /run"]
    named = {span.attributes.get(ROLLOUT_ID) for span in runs}
    assert named == {
        f"{index}-0" for index in ran.rollouts if "agent_ref" in CASES[NAMES[index]].row
    }


def test_failures_that_ended_no_rollout_are_recovered(ran):
    """That holds with one trace for each rollout and with one trace for all."""
    recovered = Counter(
        summary(failure.event)
        for trace in ran.traces
        for key, failure in trace.failures.items()
        if trace.recovered is not None and key in trace.recovered
    )
    assert recovered == Counter(what for case in CASES.values() for what in case.recovered)


def test_saved_rows_are_those_of_a_run_without_failgraph(ran, bare):
    """Outcomes, retries and scores are the same."""
    assert ran.rows == bare.rows


def test_opentelemetry_instrument_does_the_same(python, tmp_path):
    """There is one trace for each rollout, with the failure behind a 200."""
    with running(tmp_path, python, {**ON, **OTLP}, ("env",), instrument=True) as fleet:
        fleet.collect("out", [env_row("a", fault="handled"), env_row("b")])
        (trace,) = fleet.traces()
    assert trace.root is not None
    assert trace.root.name == ATTEMPT
    assert [summary(failure.event) for failure in trace.failures.values()] == CASES["handled"].own


def test_a_call_without_a_reply_is_visible_while_it_hangs(auto):
    """The first try is exported at once. Later ones are counted, at growing intervals."""
    auto.receiver.bodies.clear()
    rows = [agent_row("[[up:hang:drop]]")]
    collecting = threading.Thread(target=auto.collect, args=("hang", rows), kwargs={"timeout": 9})
    collecting.start()
    until = time.monotonic() + 60
    while not auto.receiver.failures() and time.monotonic() < until:
        time.sleep(0.05)
    assert collecting.is_alive()
    assert len(auto.receiver.failures()) == 1
    collecting.join()
    (trace,) = auto.traces()
    first, *later = (failure.event for failure in trace.failures.values())
    assert summary(first) == "model transport_peer_drop - -"
    assert (first.attempt_id, first.operation) == ("1", "POST /v1/responses")
    assert {failure.placement for failure in trace.failures.values()} == {"failure_span"}
    assert [summary(event) for event in later] == [summary(first)]
    assert int(later[0].attempt_id or 0) > 5
    assert re.match(r"\d+ more tries failed, retrying continues: ", later[0].failure_reason)


def test_a_missing_environment_server_is_visible_too(auto):
    """The collector's own call hangs. There is one trace for the rollout, not one for each try."""
    auto.receiver.bodies.clear()
    config = configuration({**auto.ports, "relay": auto.ports["nobody"]})
    auto.collect("nobody", [agent_row("x")], config, timeout=2)
    (trace,) = auto.traces()
    assert [summary(failure.event) for failure in trace.failures.values()] == [
        "collection transport_unreachable - -"
    ]
    assert [hop.span.attributes[ROLLOUT_ID] for hop in attempts([trace])] == ["0-0"]


GATEWAY = {
    "503": "collection agent_request_failed - 503",
    "429": "collection agent_request_failed - 429",
    "500": "collection agent_run_error - 500",
    "badjson": "collection agent_run_error - 200",
    "dropmid": "collection agent_run_error - 200",
}


def test_replies_to_the_collector_that_are_not_a_result(auto):
    """A gateway answers. The kind is Gym's own label, with the reply's status."""
    auto.receiver.bodies.clear()
    config = configuration({**auto.ports, "relay": auto.ports["upstream"]})
    auto.collect("gateway", [agent_row(f"[[up:g-{step}:{step}]]") for step in GATEWAY], config)
    found = {}
    for hop in attempts(auto.traces()):
        (event,) = hop.report.events.values()
        assert hop.report.failure_id == event.event_id
        found[hop.span.attributes[ROLLOUT_ID]] = summary(event)
    assert found == {f"{index}-0": expected for index, expected in enumerate(GATEWAY.values())}


def test_a_run_that_a_failed_rollout_ends(auto):
    """If failed rollouts are not put aside, the exception that ends the run is the failure."""
    auto.receiver.bodies.clear()
    auto.collect("ends", [agent_row("x", agent_fault=True)], route=False)
    assert "ended" in auto.output or "ClientResponseError" in auto.output
    (trace,) = auto.traces()
    assert [summary(failure.event) for failure in trace.failures.values()] == CASES["agent"].own[
        ::-1
    ]


def test_a_server_that_is_killed_in_a_call_and_comes_back(auto):
    """Its caller sees a dropped connection, refused ones and a reply. The rollout succeeds."""
    auto.receiver.bodies.clear()
    rows = [agent_row("[[up:killed:hang,ok]]")]
    got: list[Any] = []
    collecting = threading.Thread(
        target=lambda: got.extend(auto.collect("killed", rows, timeout=100))
    )
    collecting.start()
    log = auto.folder / "upstream.log"
    until = time.monotonic() + 60
    while "killed" not in log.read_text() and time.monotonic() < until:
        time.sleep(0.05)
    auto.processes["policy_model"].kill()
    auto.processes["policy_model"].wait()
    time.sleep(1.2)
    auto.restart("policy_model")
    collecting.join()
    assert [row["reward"] for row in got] == [1.0]
    (trace,) = auto.traces()
    found = [failure.event for failure in trace.failures.values()]
    assert [summary(event) for event in found][:2] == [
        "agent transport_peer_drop agent -",
        "agent transport_unreachable agent -",
    ]
    assert {event.failure_kind for event in found[2:]} <= {"transport_unreachable"}
    assert len(found) <= 4
    assert trace.report.failure_id is None


def test_an_environment_server_that_runs_an_agent_itself(auto):
    """The agent's failure is the cause of the environment's, and every hop names the rollout."""
    auto.receiver.bodies.clear()
    config = with_turn(auto.ports)
    auto.restart("turn", config)
    input_ = {
        "responses_create_params": {"input": [{"role": "user", "content": "[[up:turn:500]]"}]},
        "task_data": {},
    }
    row = {"task_id": {"taskset": "turn", "task_id": "t"}, "task_input": input_}
    (saved,) = auto.collect("turn", [row], config)
    assert saved["_ng_failure_class"] == "environment_server_failed"
    (trace,) = auto.traces()
    chain = [
        summary(trace.failures[key].event)
        for key in trace.report.events
        if key not in (trace.recovered or ())
    ]
    assert chain == [MODEL_500, AGENT, "environment environment_server_failed agent -"]
    named = {hop.span.service: hop.span.attributes.get(ROLLOUT_ID) for hop in trace.hops}
    assert named == dict.fromkeys(("collector", "turn", "agent", "policy_model"), "0-0")


def test_the_error_body_of_a_server_without_failgraph_is_read(auto):
    """Each server that it quotes has a failure, caused by that of the next one."""
    auto.restart("agent", FAILGRAPH_ENABLED="false", OTEL_TRACES_EXPORTER="none")
    auto.receiver.bodies.clear()
    auto.collect("blind", [agent_row("[[up:blind:500]]"), agent_row("x", rs_fault="verify")])
    hops = {hop.span.attributes[ROLLOUT_ID]: hop.report for hop in attempts(auto.traces())}
    model, agent, own = hops["0-0"].events.values()
    assert [summary(event) for event in (model, agent, own)] == [
        "model unhandled_exception - 500",
        AGENT,
        UP,
    ]
    assert (agent.cause_id, own.cause_id) == (model.event_id, agent.event_id)
    assert "upstream says 500" in model.failure_reason
    agent, own = hops["1-0"].events.values()  # nothing names the innermost server
    assert [summary(event) for event in (agent, own)] == [AGENT, UP]
    assert "verify exploded" in agent.failure_reason


def test_the_result_of_a_server_without_failgraph_is_read(auto):
    """The episode fails behind a 200. The row loses the kind, and the trace keeps it."""
    auto.restart("env", FAILGRAPH_ENABLED="false", OTEL_TRACES_EXPORTER="none")
    auto.receiver.bodies.clear()
    (saved,) = auto.collect("blind-env", [env_row("h", fault="handled")])
    assert "provider_quota_exhausted" not in json.dumps(saved)
    (trace,) = auto.traces()
    assert [summary(failure.event) for failure in trace.failures.values()] == CASES["handled"].own
    assert trace.report.failure_id is not None


def test_the_spans_of_gyms_own_telemetry_are_hops(run_lens):
    """`gym.job` reports the run, `gym.rollout` a rollout, whose failure is the request's own."""
    (trace,) = run_lens.traces
    by_name: dict[str, list[Any]] = {}
    for hop in trace.hops:
        if hop.report is not None:
            by_name.setdefault(hop.span.name, []).append(hop.report)
    (job,) = by_name["gym.job"]
    assert set(job.events) == set(trace.failures)
    assert job.failure_id is None
    through_agent = [
        case for case in CASES.values() if "agent_ref" in case.row and (case.own or case.recovered)
    ]
    assert len(by_name["gym.rollout"]) == len(through_agent)
    own = {report.failure_id for report in by_name["gym.rollout"]} - {None}
    assert own <= {report.failure_id for report in by_name["POST /run"]}
    assert len(own) == sum(bool(case.own) for case in through_agent)
