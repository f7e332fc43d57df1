"""The NeMo Gym that is coming makes the records itself; here a stand-in, built from the documented names alone."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from programs import clean_environment

pytest.importorskip("fastapi", reason="Gym's servers are FastAPI's, which this set lacks")
pytest.importorskip("httpx", reason="the test asks the server by httpx, which this set lacks")
pytest.importorskip(
    "opentelemetry.instrumentation.fastapi", reason="the server is traced by contrib"
)

TESTS = Path(__file__).parents[2] / "support"


def ran(*words: str) -> dict[str, Any]:
    environ = clean_environment()
    found = subprocess.run(
        [sys.executable, "-W", "ignore", TESTS / "apps" / "upcoming_gym.py", *words],
        env={
            **environ,
            "FAILGRAPH_ENABLED": "true",
            "PYTHONPATH": str(TESTS / "upcoming_gym_stand_in"),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    whole = ran()
    assert whole["missing"] == {}
    return whole["found"]


def in_header(reply: dict[str, Any]) -> dict[str, Any]:
    (value,) = reply["headers"]
    return json.loads(base64.b64decode(value.removeprefix("made-up.")))


def test_a_failure_that_gym_observed_is_recorded(found):
    """`observe_failure`: on the request's span, with Gym's id; the reply's header is in Gym's own encoding."""
    reply = found["recovered"]
    (event,) = reply["events"]
    assert (event["boundary"], event["kind"], event["http_status"]) == (
        "model",
        "provider_unavailable",
        503,
    )
    assert list(in_header(reply)["events"]) == [event["id"]]
    assert reply["own"] is None


def test_a_report_that_gym_observed_is_a_copy(found):
    """`observe_reply`: what nobody says the place of is recorded here, as what it is."""
    (event,) = found["relayed"]["events"]
    assert (event["id"], event["kind"], event["remote"]) == ("theirs", "judge_failed", True)


def test_what_gyms_middleware_answers_is_the_requests_own_failure(found):
    """The middleware's reply stays; each failure of the chain is recorded once, causes first."""
    reply = found["raises"]
    assert reply["status"] == 502
    cause, effect = reply["events"]
    assert (cause["kind"], effect["kind"]) == ("transport_timeout", "agent_run_error")
    assert effect["cause.id"] == cause["id"]
    assert reply["own"] == in_header(reply)["failure_id"] == effect["id"]


def test_what_another_middleware_raises_inside_gyms_is_seen_too(found):
    """No route has seen it; Gym's middleware answers it all the same."""
    reply = found["outside"]
    (event,) = reply["events"]
    assert reply["own"] == event["id"]


def test_a_codec_that_does_not_fit_leaves_the_header_to_gym():
    """What Gym wrote stands, once; the trace is as before."""
    whole = ran("strange")
    reply = whole["found"]["raises"]
    assert in_header(reply)["failure_id"] == reply["own"]
    assert len(reply["events"]) == 2
