"""The formats of Gym's releases: rollout ids, failure classes, error bodies, validation errors."""

from __future__ import annotations

import json
import time

import pytest

from failgraph.failure.kinds import fits_pattern
from failgraph.gym_formats.error_bodies import MAX_HOPS, FailedServer, parse_error_body
from failgraph.gym_formats.failure_classes import CLASSES, class_meaning, is_known_class
from failgraph.gym_formats.outcomes import row_outcome
from failgraph.gym_formats.rollout_ids import attempt_id, rollout_id
from failgraph.gym_formats.validation_errors import without_inputs
from gym_rows import nested_body


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"_ng_task_index": 3, "_ng_rollout_index": 1}, "3-1"),
        ({"_ng_task_index": 3, "_ng_rollout_index": 1, "_ng_attempt_index": 0}, "3-1"),
        ({"_ng_task_index": 3, "_ng_rollout_index": 1, "_ng_attempt_index": 2}, "3-1-a2"),
        ({"_ng_task_index": 3, "_ng_rollout_index": 1, "_ng_rollout_id": "x.y"}, "x.y"),
        ({"_ng_rollout_id": "x", "_ng_attempt_index": "4"}, "x-a4"),
        ({"_ng_task_index": 3}, None),
        ({"_ng_rollout_id": ".hidden"}, None),
        ({"_ng_rollout_id": "x\n"}, None),
        ({"_ng_rollout_id": "x" * 300}, None),
        ({"_ng_rollout_id": 7}, None),
        ({"_ng_rollout_id": "x", "_ng_attempt_index": -1}, None),
        ({"_ng_task_index": True, "_ng_rollout_index": 1}, None),
        ({}, None),
    ],
)
def test_a_rollout_id_is_made_as_gym_makes_it(row, expected):
    """The explicit id or else both indexes, with a number for a retry; none that Gym rejects."""
    assert rollout_id(row) == expected


def test_an_episode_id_has_the_same_form():
    """The capture key of an `EpisodeId` is the id of the attempt."""
    assert [attempt_id("r", 0), attempt_id("r", 3), attempt_id(None, 0), attempt_id("r", True)] == [
        "r",
        "r-a3",
        None,
        None,
    ]


def test_every_known_class_has_a_kind_that_is_a_name():
    """No known class has a kind that would be flagged; an unknown one keeps its own name."""
    assert all(fits_pattern(meaning.kind) for meaning in CLASSES.values())
    assert class_meaning("Moon Phase!").kind == "Moon Phase!"
    assert class_meaning("moon").boundary.value == "collection"
    known = ["timeout_exceeded", "session_lost", "gdpval:eval_missing", "moon", "Moon:Phase"]
    assert [is_known_class(name) for name in known] == [True, True, True, False, False]


@pytest.mark.parametrize(
    "message", ["verify 'exp\" loded é\n", "x\\ny \\u00e9 \x07 😀", "", "it's", "a" * 300]
)
@pytest.mark.parametrize(
    "servers", [(), ("A___a",), ("A___a", "B_C___b-1"), ("A___a", "A___a", "R___r")]
)
def test_a_nested_body_is_parsed(message, servers):
    """Servers from the outermost, and type and message of the exception, with any characters."""
    body = json.dumps(repr(ValueError(message)))
    for server in reversed(servers):
        body = nested_body(server, body)
    parsed = parse_error_body(body)
    assert parsed.servers == tuple(FailedServer(*server.split("___")) for server in servers)
    assert parsed.exception == ("ValueError", message)


def test_a_cut_body_is_parsed_as_far_as_it_goes():
    """Wherever it is cut, its servers are right, and its text is a beginning of the whole."""
    whole = nested_body(
        "A___a", nested_body("B___b", json.dumps(repr(ValueError('it\'s "here" \\ now'))))
    )
    full = parse_error_body(whole)
    for end in range(len(whole)):
        parsed = parse_error_body(whole[:end] + "…")
        assert parsed.servers == full.servers[: len(parsed.servers)]
        if len(parsed.servers) == 2:
            assert full.text.startswith(parsed.text)
    assert parse_error_body(whole[:-12]).exception[0] == "ValueError"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "null",
        "[1]",
        "plain",
        '"',
        "Hit an exception in",
        "\"b'",
        "Not Found",
        '{"detail": "x"}',
        "\ud800",
    ],
)
def test_any_other_body_stays_text(body):
    """It names no server, and nothing is raised."""
    parsed = parse_error_body(body)
    assert parsed.servers == ()
    assert parsed.text in (body, body.strip('"'), "b'")


def test_a_deeply_nested_body_is_bounded():
    """In the servers that are parsed, and in time, which is linear in its length."""
    body = "x"
    for _ in range(MAX_HOPS + 2):
        body = nested_body("A___a", body)
    assert len(parse_error_body(body).servers) == MAX_HOPS
    assert min(_seconds(64_000) / _seconds(8_000) for _ in range(3)) < 24  # 64: quadratic


def _seconds(size: int) -> float:
    """CPU time of reading hostile bodies of `size` characters."""
    hostile = [
        "'" * size,
        "b'" + "\\" * size,
        '"' + "\\u" * (size // 2),
        "b'" + "'\"" * (size // 2),
        "A(" * (size // 2),
    ]
    start = time.process_time()
    for text in hostile:
        for body in (text, f"Hit an exception in A___a calling an inner server: {text}"):
            _ = parse_error_body(body).exception
    return time.process_time() - start


PYDANTIC = (
    "1 validation error for Reply\n"
    "  Field required [type=missing, input_value={SECRET}, input_type=dict]\n"
)


@pytest.mark.parametrize(
    "text",
    [
        PYDANTIC.format(SECRET="{'output': ['a secret prompt'], 'id': \"it's\"}"),
        PYDANTIC.format(SECRET="'secret'") * 3,
        PYDANTIC.format(SECRET="{'output': 'a secret")[: -len(", input_type=dict]\n")],
        nested_body("A___agent", json.dumps(repr(PYDANTIC.format(SECRET="'secret, really'")))),
    ],
)
def test_the_inputs_that_validation_errors_quote_are_left_out(text):
    """From a reason and from a body, also if Gym cut it inside an input."""
    assert "secret" in text
    assert "secret" not in without_inputs(text)
    assert "1 validation error for Reply" in without_inputs(text)
    row = {
        "_ng_failure_class": "agent_run_error",
        "_ng_failure_type": "X",
        "_ng_failure_message": text,
    }
    outcome = row_outcome({**row, "_ng_failure_response_body": text}, "row")
    assert "secret" not in repr(outcome)


def test_hostile_quotes_take_bounded_time():
    """Thousands of inputs that never end."""
    started = time.process_time()
    without_inputs("input_value=" * 6000 + "\n, input_type")
    assert time.process_time() - started < 2
