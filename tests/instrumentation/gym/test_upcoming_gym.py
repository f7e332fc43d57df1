"""The upcoming NeMo Gym makes failure records itself. Tested with a stand-in."""

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

SUPPORT = Path(__file__).parents[2] / "support"


def run(*words: str) -> dict[str, Any]:
    """Run the server program. Return what it found."""
    environ = clean_environment()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", SUPPORT / "apps" / "upcoming_gym.py", *words],
        env={
            **environ,
            "FAILGRAPH_ENABLED": "true",
            "PYTHONPATH": str(SUPPORT / "upcoming_gym_stand_in"),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    result = run()
    assert result["missing"] == {}
    return result["found"]


def report_in(reply: dict[str, Any]) -> dict[str, Any]:
    """Return the report in the one header of a reply."""
    (value,) = reply["headers"]
    return json.loads(base64.b64decode(value.removeprefix("made-up.")))


def test_a_failure_that_gym_observed_is_recorded(found):
    """It is on the request's span, with Gym's id. The reply's header is in Gym's own encoding."""
    reply = found["recovered"]
    (event,) = reply["events"]
    assert (event["boundary"], event["kind"], event["http_status"]) == (
        "model",
        "provider_unavailable",
        503,
    )
    assert list(report_in(reply)["events"]) == [event["id"]]
    assert reply["own"] is None


def test_a_failure_in_a_report_that_gym_observed_is_a_copy(found):
    """A failure whose place is unknown is recorded here as a remote copy, and redacted."""
    (event,) = found["relayed"]["events"]
    assert (event["id"], event["kind"], event["remote"]) == ("theirs", "judge_failed", True)
    assert event["reason"] == "password=[redacted:secret]"


def test_an_exception_that_gyms_middleware_answers_is_the_requests_own_failure(found):
    """The reply is the middleware's. Each failure of the chain is recorded once, causes first."""
    reply = found["raises"]
    assert reply["status"] == 502
    cause, effect = reply["events"]
    assert (cause["kind"], effect["kind"]) == ("transport_timeout", "agent_run_error")
    assert effect["cause.id"] == cause["id"]
    assert reply["own"] == report_in(reply)["failure_id"] == effect["id"]


def test_an_exception_of_a_middleware_inside_gyms_is_recorded_too(found):
    """No route raised it."""
    reply = found["outside"]
    (event,) = reply["events"]
    assert reply["own"] == event["id"]


def test_an_unusable_codec_leaves_the_header_to_gym():
    """The reply has Gym's header, once, and the trace is the same."""
    reply = run("strange")["found"]["raises"]
    assert report_in(reply)["failure_id"] == reply["own"]
    assert len(reply["events"]) == 2
