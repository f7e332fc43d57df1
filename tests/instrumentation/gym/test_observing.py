"""Hooks on released NeMo Gym: quoted failures, tables, endless retries."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import Any, NamedTuple

import pytest

import failgraph
from failgraph import FailureBoundary
from failgraph.instrumentation.gym import (
    current_request,
    observing,
    quoted_failures,
    retries,
    rollout_attempts,
    vocabulary,
)
from failgraph.instrumentation.gym.rollout_names import rollout_id_of
from failgraph.recording.recorder import recorder

ZOO = {
    "elsewhere": {"resources_servers": {"other": {"host": "10.0.0.7", "port": 1}}},
    "agent": {"responses_api_agents": {"simple_agent": {"host": "127.0.0.1", "port": 1}}},
    "policy": {"responses_api_models": {"openai_model": {"host": "127.0.0.1", "port": 2}}},
    "head_server": {"host": "h", "port": 3},
    "broken": 7,
}


def wrapped(server: str, inner: bytes) -> bytes:
    """Return what Gym's middleware answers if `inner` was the body of the server below."""
    import json

    return json.dumps(
        f"Hit an exception in Some___{server} calling an inner server: {inner!r}"
    ).encode()


class Info(NamedTuple):
    real_url: str


class Failing(Exception):
    """aiohttp's `ClientResponseError` with the body that Gym adds."""

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


def quoted(error: Failing) -> list[tuple[str, str]]:
    """Return boundary and reason of each failure that the body quotes."""
    return [
        (failure.boundary.value, failure.reason)
        for failure in quoted_failures.failures_quoted_by(error)
    ]


def test_a_body_quotes_the_servers_below():
    """Each server that is named is a failure, innermost first. An agent calling itself is one."""
    body = wrapped(
        "agent", wrapped("agent", wrapped("policy", b'{"error": "it\'s \\"upstream\\" \xff"}'))
    )
    assert quoted(Failing(body)) == [
        ("model", '{"error": "it\'s \\"upstream\\" \ufffd"}'),
        ("agent", "a server that agent called failed"),
    ]


def test_a_body_that_quotes_no_server_is_of_the_called_server():
    """The body is an exception's `repr`. Host and port say which server it is."""
    assert quoted(Failing(b'"KeyError(1)"')) == [("agent", "KeyError(1)")]
    assert quoted(Failing(b'"KeyError(1)"', url="http://10.0.0.7:1/verify")) == [
        ("resources_server", "KeyError(1)")
    ]
    assert quoted(Failing(b'"KeyError(1)"', url="http://127.0.0.1:9/run")) == []


@pytest.mark.parametrize(
    "error",
    [
        Failing(b'{"error": "a gateway"}'),
        Failing(b'"busy"', status=503),
        Failing(b'"KeyError(1)"', url="http://8.8.8.8:1/run"),
        Failing(b'"KeyError(1)"', headers={"x-ng-failure-report": "{}"}),
    ],
)
def test_a_body_that_is_not_gyms_or_has_a_report_is_ignored(error):
    """Another status, another format, a host that is not a peer, a report."""
    assert quoted(error) == []


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
    """It neither raises nor warns."""
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
def test_the_id_of_a_requested_rollout(row, expected):
    """It is found in either form of a `/run` body."""
    assert rollout_id_of(row) == expected


def test_an_unknown_name_is_kept_and_flagged():
    """A label of a benchmark, and an error type of a sandbox provider."""
    assert vocabulary.meaning_of_class("moon").kind == "moon"
    assert vocabulary.kind_of_sandbox("quantum") == "quantum"
    assert failgraph.stats()["unmapped"] == 2
    assert vocabulary.meaning_of_class("judge_invalid").kind == "judge_unparseable"


def test_the_reason_of_a_validation_error_has_no_input():
    """pydantic quotes the input, which may be a prompt or a reply."""
    from pydantic import BaseModel, ValidationError

    class Reply(BaseModel):
        output: list[int]

    with pytest.raises(ValidationError) as caught:
        Reply.model_validate({"output": "a secret prompt"})
    reason = observing.reason_of(caught.value)
    assert "secret" not in reason
    assert reason == "1 validation errors for Reply: output: Input should be a valid list"


def test_a_judges_error_is_recorded_without_the_input_that_its_cause_quotes(tracer, exporter):
    """Gym makes the error's text from a validation error, which is also its cause."""
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


def test_endless_retries_are_recorded_at_growing_intervals(tracer, exporter, monkeypatch):
    """An hour of two tries a second gives a dozen events, which count all of them."""
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


def test_slow_tries_are_of_one_call(tracer, exporter, monkeypatch):
    """The pause between tries counts, not their duration. Another request is another call."""
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
    """Another of its workers may have served the call. Another agent's failure would be a cause."""
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


def test_a_task_that_requests_rollouts_goes_on_outside_of_them(tracer, exporter, monkeypatch):
    """A rollout's trace has the calls made for it, and not what the task does after its result."""
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


def test_a_failure_without_a_boundary_takes_that_of_the_gym_server(tracer, exporter):
    """The setting would take precedence."""
    with tracer.start_as_current_span("request"), failgraph.hop():
        hop = failgraph.context.current_hop.get()
        hop.boundary = FailureBoundary.ENVIRONMENT
        failgraph.record(failgraph.NgFailureEvent("session_lost"))
        failgraph.record(ConnectionResetError("reset"))
    (span,) = exporter.get_finished_spans()
    assert [event.attributes["nemo.gym.failure.boundary"] for event in span.events] == [
        "environment"
    ] * 2
