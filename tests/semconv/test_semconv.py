"""The names in traces: they are a contract with everybody who reads traces."""

from __future__ import annotations

import re

import pytest

from builders import event
from failgraph import semconv
from failgraph.codec import encode_event

pytestmark = pytest.mark.once

CONSTANTS = {
    name: value
    for name, value in vars(semconv).items()
    if name.isupper() and isinstance(value, str) and not name.startswith("_")
}
PREFIXES = {"PREFIX", "SANDBOX", "MODEL"}  # names that fields are appended to
ATTRIBUTES = {
    name: value
    for name, value in CONSTANTS.items()
    if value.startswith(semconv.PREFIX) and name not in PREFIXES
}


def test_no_two_constants_are_the_same_name():
    """The event and the failure span share theirs by being one constant."""
    assert len(set(CONSTANTS.values())) == len(CONSTANTS)


@pytest.mark.parametrize("name", sorted(ATTRIBUTES.values()))
def test_an_attribute_follows_the_rules_of_opentelemetry(name):
    """Lower case, dots between namespaces, underscores between words."""
    assert re.fullmatch(r"nemo\.gym\.failure(\.[a-z]+(_[a-z]+)*)+", name)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (semconv.REPORT_IDS, True),
        (semconv.REPORT_KINDS, True),
        (semconv.REPORT_BOUNDARIES, True),
        (semconv.REASON + semconv.REST, True),
        (semconv.SANDBOX + "provider" + semconv.REST, True),
        (semconv.REASON, False),
        (semconv.REPORT_ID, False),
        ("theirs" + semconv.REST, False),
        ("", False),
    ],
)
def test_arrays_are_known_by_their_name(key, expected):
    """The lists of a hop, and the rest of a text; never an attribute of the user's."""
    assert semconv.is_array(key) is expected


def test_each_attribute_that_is_written_has_a_constant():
    """Those of details are a prefix and a field of the schema."""
    full = event(
        "e",
        boundary="sandbox",
        failure_reason="ä" * 1500,
        exception_type="E",
        http_status=500,
        stage="agent",
        operation="exec",
        operation_id="o",
        attempt_id="a",
        cause_id="c",
        foreign_error={"exception_type": "E", "message": "m", "http_status": 502},
        details={"provider": "docker", "exit_code": -9},
    )
    written = encode_event(full, remote=True, late=True)
    known = set(CONSTANTS.values())
    unknown = {
        key
        for key in written
        if key.removesuffix(semconv.REST) not in known and not key.startswith(semconv.SANDBOX)
    }
    assert unknown == set()
    assert semconv.REASON + semconv.REST in written


def test_a_reader_can_keep_one_object_for_each_name():
    """`NAMES` holds each attribute of failgraph's, and nothing else."""
    assert set(semconv.NAMES) >= set(ATTRIBUTES.values())
    assert all(key is value for key, value in semconv.NAMES.items())
    assert set(semconv.NAMES) >= {
        each for each in semconv.REPEATED if each.startswith(semconv.PREFIX)
    }
