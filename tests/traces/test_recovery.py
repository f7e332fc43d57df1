"""Which failures the root hop of a trace recovered from."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import event
from failgraph.traces.outcomes import outcome_of
from failgraph.view import list_row
from otlp_file import PREFIX, SERVER, process, reported, seen, span
from trace_reading import CAUSE_CHAIN, loss_kinds, read_trace


@pytest.mark.parametrize(
    ("written", "recovered"),
    [
        (reported("a", "b", "c", "r", own="c"), {"r"}),
        (reported("a", "b", "c", "r", own="b"), {"c", "r"}),
        (reported("a", "b", "c", own="c"), set()),
        (reported("a", "r"), {"a", "r"}),
        (None, None),
        ({}, None),
    ],
)
def test_recovered_is_what_the_root_reported_off_its_own_chain(
    written: dict[str, object] | None, recovered: set[str] | None, tmp_path: Path
) -> None:
    """Unknown if the root hop wrote no report."""
    trace = read_trace(
        tmp_path, process(span(1, attributes=written), span(2, 1, *CAUSE_CHAIN, kind=SERVER))
    )
    assert trace.recovered == recovered
    assert list_row(trace)["recovered"] == (None if recovered is None else len(recovered))


def test_recovered_is_unknown_if_the_root_is_unfinished(tmp_path: Path) -> None:
    """A cancelled root hop reports its failures, but did not recover from them."""
    finished = reported("a")
    unfinished = {**finished, PREFIX + "report.unfinished": True}
    seen_it = seen(event("a"), 5)
    assert read_trace(tmp_path, process(span(1, None, seen_it, attributes=finished))).recovered == {
        "a"
    }
    assert (
        read_trace(tmp_path, process(span(1, None, seen_it, attributes=unfinished))).recovered
        is None
    )


def test_a_job_does_not_recover_failures_of_unfinished_attempts(tmp_path: Path) -> None:
    """In the trace of a job, only failures of attempts with a result can be recovered."""
    attempts = (
        span(2, 1, seen(event("a"), 5), name="nemo.gym.rollout_attempt", attributes=reported("a")),
        span(
            3,
            1,
            seen(event("b"), 6),
            name="nemo.gym.rollout_attempt",
            attributes={**reported("b"), PREFIX + "report.unfinished": True},
        ),
    )
    assert read_trace(
        tmp_path, process(span(1, None, attributes=reported("a", "b")), *attempts)
    ).recovered == {"a"}


@pytest.mark.parametrize(
    ("written", "outcome"),
    [
        (reported("a", "b", "c", "r", own="c"), "failed"),
        (reported("a", "b", own="lost"), "failed"),
        (reported("a", "r"), "recovered"),
        (reported("unknown"), "unknown"),
        (reported(), "unknown"),
        ({**reported("a"), PREFIX + "report.unfinished": True}, "unknown"),
        ({PREFIX + "report.ids": ["a"]}, "unknown"),
        (None, "unknown"),
    ],
)
def test_the_outcome_is_that_of_the_root_hop(written, outcome, tmp_path):
    """An own failure is one even if its event is lost; without a whole report it is unknown."""
    documents = process(span(1, attributes=written), span(2, 1, *CAUSE_CHAIN, kind=SERVER))
    assert outcome_of(read_trace(tmp_path, documents)) == outcome


def test_the_outcome_without_a_root_is_unknown(tmp_path):
    """The root hop may be in another file."""
    assert outcome_of(read_trace(tmp_path, process(span(2, 1, *CAUSE_CHAIN)))) == "unknown"


@pytest.mark.parametrize(("own", "outcome"), [("a", "failed"), (None, "recovered")])
def test_the_outcome_of_a_job_is_failed_if_one_of_its_attempts_is(own, outcome, tmp_path):
    """The job itself ends without a failure either way."""
    name = "nemo.gym.rollout_attempt"
    attempt = span(2, 1, seen(event("a"), 5), name=name, attributes=reported("a", own=own))
    other = span(3, 1, seen(event("b"), 6), name=name, attributes=reported("b"))
    root = span(1, None, attributes=reported("a", "b"))
    assert outcome_of(read_trace(tmp_path, process(root, attempt, other))) == outcome


def test_recovered_is_unknown_if_the_own_chain_is_broken(tmp_path):
    """If a cause in the middle is lost, the root cause below it is not taken for recovered."""
    root = span(
        1,
        None,
        seen(event("a", cause_id="b")),
        seen(event("c")),
        attributes=reported("a", "b", "c", own="a"),
    )
    trace = read_trace(tmp_path, process(root))
    assert trace.recovered is None
    assert set(loss_kinds(trace.losses)) == {"cause_missing", "event_missing"}


@pytest.mark.parametrize(
    "attributes",
    [
        {PREFIX + "report.ids": ["a"]},
        {**reported("a", own="a"), PREFIX + "report.id": 5},
        {**reported("a", own="a"), PREFIX + "report.ids": "a"},
    ],
)
def test_recovered_is_unknown_if_the_report_is_unreadable(tmp_path, attributes):
    """A report that was evicted or has wrong types is a loss."""
    trace = read_trace(tmp_path, process(span(1, None, seen(event("a")), attributes=attributes)))
    assert trace.recovered is None
    assert "attribute_missing" in loss_kinds(trace.losses)
