"""Rows as NeMo Gym's releases save them, one of each shape, and what a reader finds in each.

They are made from the schema, since no saved row with a failure is public.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Row(NamedTuple):
    """A saved row, and what a reader finds in it.

    Attributes:
        name: Which release, and what happened.
        row: The row.
        rollout_id: The id of its rollout, or None if the row has none.
        events: The failures by id; `row-N` stands for the N-th id that is made from the row.
        failure_id: The own failure of the rollout, or None if it did not fail.
        service: The service of its trace.
        omitted: True if its report lacks failures.
    """

    name: str
    row: dict[str, Any]
    rollout_id: str | None
    events: dict[str, dict[str, Any]]
    failure_id: str | None = None
    service: str = "nemo-gym/agent_env"
    omitted: bool = False


def attempt_row(task: int, rollout: int = 0, **others: Any) -> dict[str, Any]:
    """Return a row with what collection writes into each: task, rollout, agent and environment."""
    return {
        "_ng_task_index": task,
        "_ng_rollout_index": rollout,
        "agent_ref": {"type": "responses_api_agents", "name": "agent"},
        "_ng_environment_server": "agent_env",
        "_ng_result_type": "legacy_agent",
        **others,
    }


def scored(task: int, reward: float = 1.0, **others: Any) -> dict[str, Any]:
    """Return the row of a result, as of a verify response of 0.7.0."""
    return attempt_row(task) | {
        "responses_create_params": {"input": "hello"},
        "response": {"id": f"resp_{task}", "created_at": 1_760_000_000.25 + task, "output": []},
        "reward": reward,
        "mask_sample": False,
        "failure_kind": None,
        "failure_reason": None,
        **others,
    }


def nested_body(server: str, body: str) -> str:
    """Return the error body of a server whose callee answered with `body`."""
    return json.dumps(f"Hit an exception in {server} calling an inner server: {body.encode()!r}")


def failed_run(
    task: int, kind: str, exception: str, status: int | None, body: str | None, **others: Any
) -> dict[str, Any]:
    """Return the row of a `/run` that gave no result."""
    return {
        "_ng_failure_class": kind,
        "_ng_failure_type": exception,
        "_ng_failure_message": f"{status}, message='x', url='http://127.0.0.1:1/run'",
        "_ng_failure_http_status": status,
        "_ng_failure_response_body": body,
        **attempt_row(task),
        **others,
    }


def _run_event(kind: str, exception: str, status: int, **others: Any) -> dict[str, Any]:
    return {
        "failure_kind": kind,
        "boundary": "collection",
        "failure_reason": f"{status}, message='x', url='http://127.0.0.1:1/run'",
        "exception_type": exception,
        "http_status": status,
        "operation": "/run",
        **others,
    }


def _server_event(server: str, boundary: str, kind: str, **others: Any) -> dict[str, Any]:
    return {
        "failure_kind": kind,
        "boundary": boundary,
        "failure_reason": "",
        "exception_type": "ClientResponseError",
        "operation": server,
        **others,
    }


EXPLODED = json.dumps(repr(ValueError("verify exploded")))
VALUE_ERROR = {"exception_type": "ValueError", "message": "verify exploded"}
MAIN = {
    "e-1": {
        "failure_kind": "transport_timeout",
        "boundary": "model",
        "failure_reason": "no answer in 30 s",
    },
    "e-2": {
        "event_id": "e-2",
        "failure_kind": "agent_run_error",
        "boundary": "agent",
        "cause_id": "e-1",
        "stage": None,
    },
}
MAIN_EVENTS = {
    "e-1": MAIN["e-1"],
    "e-2": {
        "failure_kind": "agent_run_error",
        "boundary": "agent",
        "failure_reason": "",
        "cause_id": "e-1",
    },
}
EPISODE = {"rollout_id": "7-1", "attempt": 2}

# Rows of attempts.
ROWS = (
    Row(
        "0.6.0, /run failed: the agent raised",
        failed_run(
            1, "agent_run_error", "ClientResponseError", 500, json.dumps(repr(KeyError("gone")))
        ),
        "1-0",
        {
            "row-0": _run_event(
                "agent_run_error",
                "ClientResponseError",
                500,
                foreign_error={"exception_type": "KeyError", "message": "gone"},
            )
        },
        "row-0",
    ),
    Row(
        "0.7.0, /run failed: verify raised, two hops down",
        failed_run(
            2,
            "agent_run_error",
            "ClientResponseError",
            500,
            nested_body("SimpleAgent___agent", nested_body("MyRS___rs", EXPLODED)),
        ),
        "2-0",
        {
            "row-0": _run_event("agent_run_error", "ClientResponseError", 500, cause_id="row-1"),
            "row-1": _server_event("agent", "agent", "agent_run_error", cause_id="row-2"),
            "row-2": _server_event(
                "rs", "resources_server", "unhandled_exception", foreign_error=VALUE_ERROR
            ),
        },
        "row-0",
    ),
    Row(
        "0.7.0, /run failed: the model's provider, cut body",
        failed_run(
            3,
            "agent_run_error",
            "ClientResponseError",
            500,
            nested_body(
                "SimpleAgent___agent",
                nested_body("SimpleModelServer___policy_model", '{"error": {"message": "slow do'),
            )[:-8]
            + "…",
        ),
        "3-0",
        {
            "row-0": _run_event("agent_run_error", "ClientResponseError", 500, cause_id="row-1"),
            "row-1": _server_event("agent", "agent", "agent_run_error", cause_id="row-2"),
            "row-2": _server_event(
                "policy_model",
                "model",
                "unhandled_exception",
                foreign_error={
                    "exception_type": "ClientResponseError",
                    "message": '{"error": {"message": "slow d…',
                },
            ),
        },
        "row-0",
    ),
    Row(
        "/run never reached the rollout, second attempt",
        failed_run(
            4, "agent_request_failed", "ClientResponseError", 503, None, _ng_attempt_index=1
        ),
        "4-0-a1",
        {"row-0": _run_event("agent_request_failed", "ClientResponseError", 503)},
        "row-0",
    ),
    Row(
        "/run answered no JSON, explicit rollout id",
        failed_run(5, "agent_run_error", "JSONDecodeError", 200, None, _ng_rollout_id="run.a_5"),
        "run.a_5",
        {"row-0": _run_event("agent_run_error", "JSONDecodeError", 200)},
        "row-0",
    ),
    Row(
        "0.5.1, judge failed",
        {
            "_ng_task_index": 6,
            "_ng_rollout_index": 3,
            "reward": 0.0,
            "_ng_failure_class": "judge_failed",
            "_ng_failure_judge_error": "TimeoutError: judge",
        },
        "6-3",
        {
            "row-0": {
                "failure_kind": "judge_failed",
                "boundary": "resources_server",
                "stage": "verification",
                "failure_reason": "TimeoutError: judge",
            }
        },
        "row-0",
        service="nemo-gym",
    ),
    Row(
        "0.7.0, judge failed",
        scored(
            7,
            0.0,
            mask_sample=True,
            failure_kind="judge_failed",
            failure_reason="ClientResponseError: 500",
            instance_config={"mask_sample": True},
            _ng_failure_class="judge_failed",
            _ng_failure_judge_error="ClientResponseError: 500",
        ),
        "7-0",
        {
            "row-0": {
                "failure_kind": "judge_failed",
                "boundary": "resources_server",
                "stage": "verification",
                "failure_reason": "ClientResponseError: 500",
            }
        },
        "row-0",
    ),
    Row(
        "0.7.0, handled episode failure",
        {
            "_ng_task_id": {"taskset": "fault", "task_id": "t"},
            "_ng_failure_class": "environment_server_failed",
            "_ng_failure_terminal": False,
            "_ng_failure_message": "provider out of quota",
            "_ng_failure_stage": "seed",
            "_ng_failure_partial_response": {"output": []},
            "_ng_task_index": 8,
            "_ng_rollout_index": 0,
            "_ng_environment_server": "my_env",
        },
        "8-0",
        {
            "row-0": {
                "failure_kind": "environment_server_failed",
                "boundary": "environment",
                "stage": "seed",
                "failure_reason": "provider out of quota",
            }
        },
        "row-0",
        service="nemo-gym/my_env",
    ),
    Row(
        "an agent's own class, which has a registered kind",
        scored(9, 0.0, _ng_failure_class="timeout_exceeded", error_message="after 3600 s"),
        "9-0",
        {
            "row-0": {
                "failure_kind": "agent_timeout",
                "boundary": "agent",
                "stage": "agent",
                "failure_reason": "after 3600 s",
                "operation": "timeout_exceeded",
            }
        },
        "row-0",
    ),
    Row(
        "a resources server's class, which has none",
        scored(10, 0.0, _ng_failure_class="reference_missing", _ng_failure_terminal=True),
        "10-0",
        {
            "row-0": {
                "failure_kind": "gdpval:reference_missing",
                "boundary": "resources_server",
                "stage": "verification",
                "failure_reason": "",
                "operation": "reference_missing",
            }
        },
        "row-0",
    ),
    Row(
        "a class that nobody knows",
        scored(11, 0.0, _ng_failure_class="moon_phase", error="full moon"),
        "11-0",
        {
            "row-0": {
                "failure_kind": "moon_phase",
                "boundary": "collection",
                "failure_reason": "full moon",
            }
        },
        "row-0",
    ),
    Row(
        "0.7.0, verify names a failure and still scores",
        scored(12, 0.5, failure_kind="judge_unparseable", failure_reason="second try"),
        "12-0",
        {
            "row-0": {
                "failure_kind": "judge_unparseable",
                "boundary": "resources_server",
                "stage": "verification",
                "failure_reason": "second try",
            }
        },
    ),
    Row(
        "0.7.0, verify masks the sample",
        scored(13, 0.0, mask_sample=True, failure_kind="session_lost", failure_reason="gone"),
        "13-0",
        {
            "row-0": {
                "failure_kind": "session_lost",
                "boundary": "resources_server",
                "stage": "verification",
                "failure_reason": "gone",
            }
        },
        "row-0",
    ),
    Row(
        "0.7.0, verify masks the sample without a kind",
        scored(14, 0.0, mask_sample=True, failure_reason="reset timed out"),
        "14-0",
        {
            "row-0": {
                "failure_kind": "verifier_error",
                "boundary": "resources_server",
                "stage": "verification",
                "failure_reason": "reset timed out",
            }
        },
        "row-0",
    ),
    Row(
        "0.6.0, a reason is the verdict, no failure",
        scored(15, 0.0, failure_reason="tool_name_mismatch"),
        "15-0",
        {},
    ),
    Row("a clean rollout", scored(16), "16-0", {}),
    Row(
        "Main, failed with a report",
        attempt_row(
            17, _ng_failure_class="agent_run_error", _ng_failure_events=MAIN, _ng_failure_id="e-2"
        ),
        "17-0",
        MAIN_EVENTS,
        "e-2",
    ),
    Row(
        "Main, a recovered failure in a row that scored",
        scored(18, _ng_failure_events=MAIN),
        "18-0",
        MAIN_EVENTS,
    ),
    Row(
        "Main, the report and the kind of a verify response",
        scored(19, failure_kind="transport_timeout", _ng_failure_events=MAIN),
        "19-0",
        MAIN_EVENTS,
    ),
    Row(
        "Main, a class but no own failure in the report",
        attempt_row(
            20,
            _ng_failure_class="agent_run_error",
            _ng_failure_message="broke",
            _ng_failure_events=MAIN,
        ),
        "20-0",
        {
            "row-0": {
                "failure_kind": "agent_run_error",
                "boundary": "agent",
                "stage": "agent",
                "failure_reason": "broke",
            },
            **MAIN_EVENTS,
        },
        "row-0",
    ),
    Row(
        "0.7.0, RolloutFailure of the environment",
        {
            "schema_version": 1,
            "episode_id": EPISODE,
            "run_id": "r",
            "source": "environment",
            "delivery": "delivered",
            "failure": {
                "failure_reason": "lost",
                "terminal": True,
                "failure_kind": "session_lost",
                "stage": "agent",
            },
        },
        "7-1-a2",
        {
            "row-0": {
                "failure_kind": "session_lost",
                "boundary": "environment",
                "stage": "agent",
                "failure_reason": "lost",
                "operation": "/run, delivered",
            }
        },
        "row-0",
        service="nemo-gym",
    ),
    Row(
        "0.7.0, RolloutFailure of the collector",
        {
            "episode_id": {"rollout_id": "7-1"},
            "run_id": "r",
            "source": "collector",
            "delivery": "possibly_delivered",
            "failure": {"failure_reason": "no reply", "terminal": False},
            "http_status": 502,
            "exception_type": "ClientPayloadError",
        },
        "7-1",
        {
            "row-0": {
                "failure_kind": "agent_request_failed",
                "boundary": "collection",
                "failure_reason": "no reply",
                "exception_type": "ClientPayloadError",
                "http_status": 502,
                "operation": "/run, possibly_delivered",
            }
        },
        "row-0",
        service="nemo-gym",
    ),
    Row(
        "0.7.0, EpisodeFailure in an episode response",
        {
            "episode_id": EPISODE,
            "task_id": {"taskset": "s", "task_id": "t"},
            "failure": {
                "failure_reason": "no quota",
                "terminal": True,
                "failure_kind": "provider_quota_exhausted",
            },
        },
        "7-1-a2",
        {
            "row-0": {
                "failure_kind": "provider_quota_exhausted",
                "boundary": "environment",
                "failure_reason": "no quota",
            }
        },
        "row-0",
        service="nemo-gym",
    ),
    Row(
        "Main, an episode response with its report",
        {
            "episode_id": EPISODE,
            "task_id": {"taskset": "s", "task_id": "t"},
            "failure": {"failure_reason": "no answer", "terminal": False},
            "failure_report": {"events": MAIN, "failure_id": "e-2", "omitted": True},
        },
        "7-1-a2",
        MAIN_EVENTS,
        "e-2",
        service="nemo-gym",
        omitted=True,
    ),
    Row(
        "an episode response with a result",
        {
            "episode_id": EPISODE,
            "task_id": {"taskset": "s", "task_id": "t"},
            "result": {"reward": 1.0},
        },
        "7-1-a2",
        {},
    ),
)

FAILING = tuple(row for row in ROWS if row.events)
# Rows of Gym's main branch that are neither attempts nor failures.
EVIDENCE = (
    attempt_row(30, _ng_omitted_rollout=True),
    attempt_row(31, _ng_unrouted_run_error={"type": "KeyError"}),
)
# A row of the materialised inputs.
INPUT = {
    "_ng_task_index": 40,
    "_ng_rollout_index": 0,
    "responses_create_params": {"input": "hello"},
}


def lines(*rows: object) -> bytes:
    """Return rows as lines of a file, bytes as they are."""
    return b"".join(
        (row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows
    )
