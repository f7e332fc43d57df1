"""What the hooks make of what released NeMo Gym says: servers named in bodies, tables, and tries without end."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import failgraph
from failgraph import FailureBoundary
from failgraph.instrumentation import hooks
from failgraph.instrumentation.gym import (
    current_request,
    observing,
    quoted_failures,
    retries,
    rollout_attempts,
    vocabulary,
)
from failgraph.instrumentation.gym.rollout_names import rollout_id_of
from failgraph.instrumentation.hook_target import HookTarget
from failgraph.recording.recorder import recorder

ZOO = {
    "elsewhere": {"resources_servers": {"other": {"host": "10.0.0.7", "port": 1}}},
    "agent": {"responses_api_agents": {"simple_agent": {"host": "127.0.0.1", "port": 1}}},
    "policy": {"responses_api_models": {"openai_model": {"host": "127.0.0.1", "port": 2}}},
    "head_server": {"host": "h", "port": 3},
    "broken": 7,
}


def wrapped(server: str, inner: bytes) -> bytes:
    """What Gym's middleware answers where `inner` was the body of the server below, as JSON."""
    import json

    return json.dumps(
        f"Hit an exception in Some___{server} calling an inner server: {inner!r}"
    ).encode()


class Info(NamedTuple):
    real_url: str


class Failing(Exception):
    """A `ClientResponseError` as Gym leaves it."""

    def __init__(
        self, body: bytes, status: int = 500, url: str = "http://127.0.0.1:1/run", headers: Any = ()
    ) -> None:
        super().__init__(status)
        self.status, self.headers, self.response_content = status, dict(headers), body
        self.request_info = Info(url)


@pytest.fixture(autouse=True)
def zoo():
    quoted_failures.set_configuration(ZOO)
    yield
    quoted_failures.set_configuration({})


def levels(error: Failing) -> list[tuple[str, str]]:
    return [
        (level.boundary.value, level.reason) for level in quoted_failures.failures_quoted_by(error)
    ]


def test_a_body_quotes_those_below_it():
    """Each server that is named is a failure, innermost first; an agent that called itself is one."""
    body = wrapped(
        "agent", wrapped("agent", wrapped("policy", b'{"error": "it\'s \\"upstream\\" \xff"}'))
    )
    assert levels(Failing(body)) == [
        ("model", '{"error": "it\'s \\"upstream\\" \ufffd"}'),
        ("agent", "a server that agent called failed"),
    ]


def test_a_body_that_quotes_nobody_is_of_the_server_that_was_called():
    """Gym answers with the exception's `repr`; who it was, its address says, of hosts that use one port alike."""
    assert levels(Failing(b'"KeyError(1)"')) == [("agent", "KeyError(1)")]
    assert levels(Failing(b'"KeyError(1)"', url="http://10.0.0.7:1/verify")) == [
        ("resources_server", "KeyError(1)")
    ]
    assert levels(Failing(b'"KeyError(1)"', url="http://127.0.0.1:9/run")) == []


@pytest.mark.parametrize(
    "error",
    [
        Failing(b'{"error": "a gateway"}'),
        Failing(b'"busy"', status=503),
        Failing(b'"KeyError(1)"', url="http://8.8.8.8:1/run"),
        Failing(b'"KeyError(1)"', headers={"x-ng-failure-report": "{}"}),
    ],
)
def test_what_is_not_gyms_or_has_a_report_is_not_read(error):
    """Another status, another form, a host that is no peer, a report."""
    assert levels(error) == []


@pytest.mark.parametrize(
    "body",
    [
        b'"' + b"[" * 60_000,
        wrapped("agent", b"x")[:-4] + b'"',
        b"\"Hit an exception in A___agent calling an inner server: b'" + b"\\\\" * 30_000 + b'"',
        b"\"Hit an exception in A___agent calling an inner server: b'\\\\d'\"",
        b'"Hit an exception in A___agent calling an inner server: ' + b"b'" * 20_000 + b'"',
        b"[" * 100_000,
    ],
)
def test_a_hostile_body_is_read_in_bounded_time(body):
    """Whatever it is: no exception, no warning, and no more than a moment."""
    started = time.perf_counter()
    quoted_failures.failures_quoted_by(Failing(body))
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"_ng_task_index": 26, "_ng_rollout_index": 1, "_ng_attempt_index": 2}, "26-1-a2"),
        ({"episode_id": {"rollout_id": "8-0", "attempt": 0}}, "8-0"),
        ({"episode_id": {"rollout_id": "8-0", "attempt": 3}}, "8-0-a3"),
        (b"{}", None),
        (None, None),
    ],
)
def test_the_id_of_a_rollout_that_is_asked_for(row, expected):
    """From the body of a `/run`, whichever form it has."""
    assert rollout_id_of(row) == expected


def test_what_a_table_does_not_know_keeps_its_name_and_is_flagged():
    """A label of a benchmark's own, and an error of a sandbox provider's own."""
    assert vocabulary.meaning_of_class("moon").kind == "moon"
    assert vocabulary.kind_of_sandbox("quantum") == "quantum"
    assert failgraph.stats()["unmapped"] == 2
    assert vocabulary.meaning_of_class("judge_invalid").kind == "judge_unparseable"


def test_a_validation_error_is_told_without_its_input():
    """pydantic quotes what was validated: a prompt, a reply."""
    from pydantic import BaseModel, ValidationError

    class Reply(BaseModel):
        output: list[int]

    with pytest.raises(ValidationError) as caught:
        Reply.model_validate({"output": "a secret prompt"})
    reason = observing.reason_of(caught.value)
    assert "secret" not in reason
    assert reason == "1 validation errors for Reply: output: Input should be a valid list"


def test_a_judges_error_is_told_without_the_input_that_its_cause_quotes(tracer, exporter):
    """Gym makes its text of the validation error's; the cause itself is told without it, too."""
    from pydantic import TypeAdapter, ValidationError

    with pytest.raises(ValidationError) as caught:
        TypeAdapter(int).validate_python("a secret completion")
    error = RuntimeError(f"ValidationError: {caught.value}")
    error.__cause__ = caught.value
    with tracer.start_as_current_span("request"):
        observing.record_failure(
            observing.GymFailure(FailureBoundary.RESOURCES_SERVER, "judge_failed"), error
        )
    (span,) = exporter.get_finished_spans()
    (event,) = span.events
    assert "valid integer" in event.attributes["nemo.gym.failure.foreign.message"]
    assert "secret" not in repr(dict(event.attributes))


def test_tries_without_end_are_told_at_growing_intervals(tracer, exporter, monkeypatch):
    """Of an hour of tries twice a second there are a dozen events, and they count every one."""
    now = [0.0]
    monkeypatch.setattr(retries, "monotonic", lambda: now[0])

    async def hour() -> None:
        for _ in range(7200):
            retries.no_reply("POST", "http://h/verify", now[0], ConnectionRefusedError("refused"))
            now[0] += 0.5
        retries.reply_received()

    with tracer.start_as_current_span("rollout"):
        asyncio.run(hour())
    found = [event.attributes for span in exporter.get_finished_spans() for event in span.events]
    assert {span.name for span in exporter.get_finished_spans() if span.events} == {
        "nemo.gym.failure"
    }
    assert len(found) <= 14
    counts = [int(each["nemo.gym.failure.reason"].split()[0]) for each in found[1:]]
    assert 1 + sum(counts) == 7200
    assert {each["nemo.gym.failure.stage"] for each in found} == {"verification"}
    assert found[-1]["nemo.gym.failure.operation.attempt_id"] == "7200"


def test_tries_that_take_long_are_of_one_call(tracer, exporter, monkeypatch):
    """It is the pause between them that counts, not how long each takes; another request is another call."""
    now = [0.0]
    monkeypatch.setattr(retries, "monotonic", lambda: now[0])

    def fail(url: str, takes: float) -> None:
        began, now[0] = now[0], now[0] + takes
        retries.no_reply("GET", url, began, TimeoutError("late"))
        now[0] += 0.5

    async def some() -> None:
        fail("http://h/a", 3)
        fail("http://h/a", 1)
        fail("http://h/b", 3)
        now[0] += 60
        fail("http://h/b", 3)

    with tracer.start_as_current_span("rollout"):
        asyncio.run(some())
    found = [event for span in exporter.get_finished_spans() for event in span.events]
    assert len(found) == 3


@pytest.mark.parametrize(("address", "failures"), [("127.0.0.1:1", 1), ("127.0.0.1:2", 2)])
def test_a_server_that_called_itself_failed_once(tracer, exporter, address, failures):
    """Whichever of its workers served the call; another agent's failure would be the cause of its own."""
    boundary = FailureBoundary.AGENT
    theirs = failgraph.FailureEvent(
        event_id="theirs", failure_kind="agent_run_error", boundary=boundary
    )
    error = Failing(b"", headers={"x-ng-failure-report": "{}"})
    token = current_request.gym_request.set(current_request.GymRequest(boundary, address))
    with tracer.start_as_current_span("request"), failgraph.hop():
        recorder().record_reply(
            failgraph.FailureReport(events={"theirs": theirs}, failure_id="theirs"), {}
        )
        observing.set_failure_id(error, "theirs")
        observing.record_raised(observing.GymFailure(boundary, "agent_run_error"), error)
    current_request.gym_request.reset(token)
    (span,) = exporter.get_finished_spans()
    assert len(span.events) == failures
    assert (span.attributes["nemo.gym.failure.report.id"] == "theirs") is (failures == 1)


def test_a_task_that_asks_for_rollouts_itself_goes_on_outside_them(tracer, exporter, monkeypatch):
    """Each is a trace with the calls made for it and ends with its result; what the task does next is none of it."""
    monkeypatch.setattr(rollout_attempts.trace, "get_tracer", lambda _: tracer)

    class Reply:
        status = 200

    async def called(*_: Any, **__: Any) -> Reply:
        tracer.start_span("call").end()
        return Reply()

    async def result(_: Reply) -> dict[str, Any]:
        return {"reward": 1.0}

    async def training() -> int:
        for number in range(20):
            row = {"_ng_task_index": number, "_ng_rollout_index": 0}
            reply = await rollout_attempts.request(
                called, None, ("agent", "/run", "POST"), {"json": row}
            )
            await rollout_attempts.get_response_json(result, None, (reply,), {})
            tracer.start_span("step").end()
        gc.collect()
        return sum(isinstance(each, rollout_attempts.RolloutAttempt) for each in gc.get_objects())

    assert asyncio.run(training()) <= 1
    spans = exporter.get_finished_spans()
    found = {
        name: [span for span in spans if span.name == name]
        for name in ("call", "step", rollout_attempts.ROLLOUT_SPAN)
    }
    assert [len(each) for each in found.values()] == [20, 20, 20]
    attempts = [span.context.span_id for span in found[rollout_attempts.ROLLOUT_SPAN]]
    assert [span.parent.span_id for span in found["call"]] == attempts
    assert [span.parent for span in (*found["step"], *found[rollout_attempts.ROLLOUT_SPAN])] == [
        None
    ] * 40


@pytest.fixture
def gym_module(monkeypatch):
    """A module of some Gym in which one hook fits, one target is missing, and one is something else."""
    module = ModuleType("nemo_gym.some")
    module.there = lambda: 1
    module.changed = 7
    monkeypatch.setitem(sys.modules, "nemo_gym.some", module)
    targets = tuple(
        HookTarget("", name, "gym.rollout_hops:run_from_config")
        for name in ("there", "gone", "changed")
    )
    elsewhere = HookTarget(
        "Class", "method", "gym.rollout_hops:run_from_config", "nemo_gym.not_loaded"
    )
    monkeypatch.setattr(hooks, "TARGETS", {"nemo_gym.some": (*targets, elsewhere)})
    yield module
    hooks.remove_all()


def test_a_hook_whose_target_is_missing_or_changed_is_named(gym_module):
    """The others are put on, and everything is as it was when they are taken off."""
    original = gym_module.there
    hooks.install("nemo_gym.some")
    assert gym_module.there is not original
    hooks.note_unfit("nemo_gym.some.there", "its second argument is a str")
    assert hooks.missing() == {
        "nemo_gym.some.gone": "not found",
        "nemo_gym.some.changed": "not found",
        "nemo_gym.not_loaded.Class.method": "not found",
        "nemo_gym.some.there": "its second argument is a str",
    }
    hooks.remove_all()
    assert gym_module.there is original
    assert hooks.missing() == {}


def test_a_failure_without_a_boundary_takes_that_of_the_gym_server(tracer, exporter):
    """The setting would win; where there is neither, it is counted and not recorded."""
    with tracer.start_as_current_span("request"), failgraph.hop():
        hop = failgraph.context.current_hop.get()
        hop.boundary = FailureBoundary.ENVIRONMENT
        failgraph.record(failgraph.NgFailureEvent("session_lost"))
        failgraph.record(ConnectionResetError("reset"))
    (span,) = exporter.get_finished_spans()
    assert [event.attributes["nemo.gym.failure.boundary"] for event in span.events] == [
        "environment"
    ] * 2
