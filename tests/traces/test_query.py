"""Which traces and failures a query selects."""

from __future__ import annotations

import pytest

from builders import event
from failgraph.traces.query import Query
from otlp_file import SECOND, SERVER, T0, process, seen, span
from trace_reading import read_documents, read_trace


@pytest.fixture
def trace(tmp_path):
    """A trace of rollout 7-1 that starts at T0 in `gym`, with failures in `gym` and `judge`."""
    root = span(
        1, None, seen(event("a", kind="judge_failed")), attributes={"nemo.gym.rollout.id": "7-1"}
    )
    inner = span(2, 1, seen(event("b", kind="sandbox:killed", boundary="sandbox")), kind=SERVER)
    return read_trace(tmp_path, process(root), process(inner, service="judge"))


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        (Query(), True),
        (Query(since_unix_nano=T0), True),
        (Query(since_unix_nano=T0 + 1), False),
        (Query(rollout_id="7-1"), True),
        (Query(rollout_id="7"), False),
        (Query(kinds=frozenset({"judge_failed", "other"})), True),
        (Query(kinds=frozenset({"other"})), False),
        (Query(boundaries=frozenset({"sandbox"})), True),
        (Query(boundaries=frozenset({"model"})), False),
        (Query(services=frozenset({"judge"})), True),
        (Query(services=frozenset({"model"})), False),
        (Query(kinds=frozenset({"judge_failed"}), boundaries=frozenset({"agent"})), True),
        (Query(kinds=frozenset({"judge_failed"}), boundaries=frozenset({"sandbox"})), False),
        (Query(kinds=frozenset({"judge_failed"}), rollout_id="other"), False),
    ],
)
def test_all_conditions_must_hold(query, matches, trace):
    """Kind, boundary and service must hold for one and the same failure."""
    assert query.matches(trace) is matches


def test_a_service_selects_the_failures_observed_in_it_or_all_if_the_trace_starts_there(trace):
    """The service of the root selects every failure of the trace."""
    for service, selected in (("gym", ["a", "b"]), ("judge", ["b"]), ("model", [])):
        query = Query(services=frozenset({service}))
        failures = trace.failures.items()
        assert [key for key, each in failures if query.matches_failure(trace, each)] == selected


def test_a_trace_with_an_unknown_start_is_never_too_old():
    """Only a known start can be before `since`."""
    query = Query(since_unix_nano=T0)
    assert [query.includes_start(start) for start in (0, 1, T0 - 1, T0)] == [
        True,
        False,
        False,
        True,
    ]


def test_a_limit_keeps_the_newest_traces(tmp_path):
    """Their order stays: by start."""
    spans = (
        span(1, None, seen(event("e")), trace=f"{number:032x}", start=number * SECOND)
        for number in range(1, 6)
    )
    traces = read_documents(tmp_path, process(*spans)).traces
    assert Query().select(traces) == traces
    assert Query(limit=2).select(traces) == traces[-2:]
    assert Query(limit=9).select(traces) == traces
    assert Query(limit=0).select(traces) == []
