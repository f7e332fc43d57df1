"""Which copy of a failure a trace shows, and which causes in other traces it takes in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders import event
from failgraph import FailureReport
from failgraph.codec import encode_event
from failgraph.view import show_row
from json_output import results_in
from otlp_file import PREFIX, TRACE, failure_span, process, raw_event, seen, span, write
from trace_reading import OTHER_TRACE, loss_kinds, read_documents, read_trace


@pytest.mark.parametrize("swap", [False, True])
def test_the_observers_copy_wins(swap: bool, tmp_path: Path) -> None:
    """An observer's own copy decides the text and the place of a failure."""
    copy = process(
        span(1, None, seen(event("e1", failure_reason="a much longer text"), 9, remote=True))
    )
    own = process(span(2, 1, seen(event("e1", failure_reason="own"), 3)), service="observer")
    trace = read_trace(tmp_path, *([own, copy] if swap else [copy, own]))
    assert trace.report.events["e1"].failure_reason == "own"
    assert trace.failures["e1"].span.service == "observer"
    assert trace.losses == ()
    assert "remote" not in show_row(trace)["failures"]["e1"]


def test_without_the_original_the_longest_remote_copy_is_used(tmp_path: Path) -> None:
    """It is marked `remote` in JSON."""
    trace = read_trace(
        tmp_path,
        process(
            span(1, None, seen(event("e1", failure_reason="cut…"), 9, remote=True)),
            span(2, 1, seen(event("e1", failure_reason="the whole text"), 8, remote=True)),
        ),
    )
    assert trace.report.events["e1"].failure_reason == "the whole text"
    assert show_row(trace)["failures"]["e1"]["remote"] is True


def test_two_own_copies_are_a_duplicate(tmp_path: Path) -> None:
    """A failure that two observers wrote is one failure and a loss."""
    trace = read_trace(
        tmp_path, process(span(1, None, seen(event("e1"), 1)), span(2, 1, seen(event("e1"), 2)))
    )
    assert list(trace.report.events) == ["e1"]
    assert loss_kinds(trace.losses) == ["duplicate"]


def test_a_cause_in_another_trace_comes_with_its_chain(tmp_path: Path) -> None:
    """It is added to the report, and placed in its own trace."""
    reading = read_documents(
        tmp_path,
        process(span(1, None, seen(event("effect", cause_id="cause"), 9, cause=None))),
        process(
            span(7, None, seen(event("root"), 1), seen(event("other"), 2), trace=OTHER_TRACE),
            span(8, 7, seen(event("cause", cause_id="root"), 3), trace=OTHER_TRACE),
        ),
    )
    trace = next(trace for trace in reading.traces if trace.trace_id == TRACE)
    assert set(trace.report.events) == {"root", "cause", "effect"}
    assert trace.report.events["effect"].cause_id == "cause"
    assert trace.root_cause == "root"
    assert trace.losses == ()
    rows = show_row(trace)["failures"]
    assert rows["cause"]["trace_id"] == OTHER_TRACE
    assert rows["cause"]["span_id"] == f"{8:016x}"
    assert rows["effect"]["trace_id"] == TRACE
    other = next(trace for trace in reading.traces if trace.trace_id == OTHER_TRACE)
    assert set(other.report.events) == {"root", "other", "cause"}


def test_a_missing_cause_is_a_loss(tmp_path: Path) -> None:
    """The failure stays, without a cause."""
    trace = read_trace(tmp_path, process(span(1, None, seen(event("e1", cause_id="gone")))))
    assert trace.report.events["e1"].cause_id is None
    assert loss_kinds(trace.losses) == ["cause_missing"]


def test_attributes_dropped_from_an_event_are_a_loss(tmp_path: Path) -> None:
    """What is left of the event is kept."""
    encoded = seen(event("e1", failure_reason="why", stage="agent"))
    encoded["attributes"] = encoded["attributes"][3:]
    encoded["droppedAttributesCount"] = 3
    trace = read_trace(tmp_path, process(span(1, None, encoded)))
    assert list(trace.report.events) == ["e1"]
    assert set(loss_kinds(trace.losses)) == {"attribute_missing"}


def test_an_event_without_an_id_is_a_loss_of_its_trace(tmp_path: Path) -> None:
    """It cannot be counted, but the trace is listed, and its report is omitted."""
    attributes = {
        key: value for key, value in encode_event(event("e1")).items() if key != PREFIX + "id"
    }
    trace = read_trace(tmp_path, process(span(1, None, raw_event(attributes))))
    assert trace.report == FailureReport(omitted=True)
    assert trace.root_cause is None
    assert "id_missing" in loss_kinds(trace.losses)


def test_a_failure_takes_memory_once(tmp_path: Path) -> None:
    """Decoded events are dropped unless they name the trace of a cause; equal texts are shared."""
    named = raw_event(
        {**encode_event(event("a", cause_id="x")), PREFIX + "cause.trace_id": OTHER_TRACE}
    )
    trace = read_trace(tmp_path, process(span(1, None, named, seen(event("b")), seen(event("c")))))
    (kept,) = trace.failures["a"].span.events
    assert kept.attributes[PREFIX + "id"] == "a"
    first, second, third = (trace.failures[key].event for key in "abc")
    assert first.failure_kind is second.failure_kind
    assert second.model_fields_set is third.model_fields_set
    changed = third.model_copy(update={"stage": "agent"})
    assert changed.model_fields_set - second.model_fields_set == {"stage"}


def test_each_trace_shows_its_own_copy_of_a_failure(tmp_path):
    """A failure written in two traces has its own place in each, whatever the hash seed."""
    path = tmp_path / "traces"
    one = span(1, None, seen(event("e"), 7))
    two = span(1, None, seen(event("e"), 9), trace=OTHER_TRACE)
    write(path, process(one, two))
    outputs = set()
    for seed in ("1", "2", "3", "4"):
        command = [sys.executable, "-m", "failgraph", "show", "--json", str(path)]
        shown = subprocess.run(
            command, capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        outputs.add(shown.stdout)
    assert len(outputs) == 1
    rows = results_in(outputs.pop())
    assert {row["trace_id"]: row["failures"]["e"]["trace_id"] for row in rows} == {
        TRACE: TRACE,
        OTHER_TRACE: OTHER_TRACE,
    }
    assert [row["failures"]["e"]["offset_nano"] for row in rows] == [7, 9]


def test_a_failure_span_without_its_event_is_a_loss(tmp_path):
    """It was made only to hold a failure."""
    empty = failure_span(2, 1, seen(event("e")))
    empty["events"], empty["droppedEventsCount"] = [], 1
    trace = read_trace(tmp_path, process(span(1), empty))
    assert set(loss_kinds(trace.losses)) == {"event_missing", "dropped_events"}
    assert trace.report.omitted


def test_a_damaged_copy_beside_a_whole_one_does_no_harm(tmp_path):
    """The report is not omitted because of a peer's broken copy."""
    broken = encode_event(event("e"), remote=True)
    del broken[PREFIX + "boundary"]
    trace = read_trace(tmp_path, process(span(1, None, seen(event("e")), raw_event(broken))))
    assert list(trace.report.events) == ["e"]
    assert not trace.report.omitted


def test_a_chain_through_many_traces_is_bounded(tmp_path):
    """A trace takes in 256 causes of other traces; the next one is `cause_missing`."""
    made = [
        span(
            1,
            None,
            seen(event(f"e{number}", cause_id=f"e{number + 1}")),
            trace=f"{number + 1:032x}",
        )
        for number in range(600)
    ]
    first = read_documents(tmp_path, process(*made)).traces[0]
    assert len(first.report.events) == 257
    assert "cause_missing" in loss_kinds(first.losses)


def test_a_text_with_invalid_utf_8_is_not_reported_as_cut(tmp_path):
    """The replacement characters make it longer, and that is a loss of its own."""
    line = json.dumps(process(span(1, None, seen(event("e", failure_reason="cafe"))))).encode()
    trace = read_trace(tmp_path, line.replace(b"cafe", b"caf\xe9"))
    assert loss_kinds(trace.losses) == ["unknown_field"]


@pytest.mark.parametrize(
    ("attributes", "placement"),
    [
        ({}, "span"),
        ({PREFIX + "failure_span": True}, "failure_span"),
        ({PREFIX + "failure_span": True, PREFIX + "journal": True}, "journal"),
        ({PREFIX + "row": True}, "row"),
    ],
)
def test_the_placement_tells_where_a_failure_was_found(attributes, placement, tmp_path):
    """The marks are attributes of the span that holds the failure."""
    trace = read_trace(tmp_path, process(span(1, None, seen(event("a")), attributes=attributes)))
    assert trace.failures["a"].placement == placement
