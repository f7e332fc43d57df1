"""The graph of a trace: its root, its own failure, its root cause, and what it lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import event
from otlp_file import SERVER, TRACE, failure_span, process, reported, seen, span
from trace_reading import (
    CAUSE_CHAIN,
    OTHER_TRACE,
    failing_span,
    loss_kinds,
    read_documents,
    read_trace,
)


def test_traces_are_ordered_by_start(tmp_path: Path) -> None:
    """The order in the file does not matter."""
    reading = read_documents(
        tmp_path, process(failing_span(start=9)), process(failing_span(trace=OTHER_TRACE, start=4))
    )
    assert [trace.trace_id for trace in reading.traces] == [OTHER_TRACE, TRACE]


def test_a_failure_span_is_not_the_root(tmp_path: Path) -> None:
    """A failure span without a parent is not the root of its trace."""
    lone = {**failure_span(3, 1, seen(event("e1"))), "parentSpanId": ""}
    trace = read_trace(
        tmp_path, process(lone, span(2, None, start=5, attributes=reported("e1", own="e1")))
    )
    assert trace.root is not None
    assert trace.root.span_id == f"{2:016x}"
    assert trace.report.failure_id == "e1"


def test_the_own_failure_is_that_of_the_root(tmp_path: Path) -> None:
    """failure_id is report.id of the root hop, and None if that span is missing."""
    inner = span(2, 1, seen(event("e1")), kind=SERVER, attributes=reported("e1", own="e1"))
    assert (
        read_trace(tmp_path, process(inner, span(1, attributes=reported("e1")))).report.failure_id
        is None
    )
    assert (
        read_trace(
            tmp_path, process(inner, span(1, attributes=reported("e1", own="e1")))
        ).report.failure_id
        == "e1"
    )
    alone = read_trace(tmp_path, process(inner))
    assert alone.report.failure_id is None
    assert alone.recovered is None


@pytest.mark.parametrize(
    ("own", "root"),
    [("c", "a"), ("b", "a"), ("r", "r"), (None, "a")],
)
def test_the_root_cause_ends_the_own_chain(own: str | None, root: str, tmp_path: Path) -> None:
    """Without an own failure, the root cause is the earliest failure without a cause."""
    trace = read_trace(
        tmp_path,
        process(span(1, None, *CAUSE_CHAIN, attributes=reported("a", "b", "c", "r", own=own))),
    )
    assert trace.report.failure_id == own
    assert trace.root_cause == root


@pytest.mark.parametrize(
    ("first", "second", "root"),
    [
        ((9, 0, "a"), (8, 5, "b"), "b"),
        ((8, 5, "a"), (8, 4, "b"), "b"),
        ((8, 5, "b"), (8, 5, "a"), "a"),
    ],
)
def test_failures_are_ordered_by_time_seq_and_id(
    first: tuple[int, int, str], second: tuple[int, int, str], root: str, tmp_path: Path
) -> None:
    """The first one is the root cause if there is no own failure."""
    events = [seen(event(key), at, seq=seq) for at, seq, key in (first, second)]
    trace = read_trace(tmp_path, process(span(1, None, *events)))
    assert trace.root_cause == root
    assert next(iter(trace.failures)) == root


def test_a_chain_of_5000_causes_is_read(tmp_path: Path) -> None:
    """The end of a long chain is found without recursion."""
    chain = [seen(event(str(at), cause_id=str(at - 1) if at else None), at) for at in range(5000)]
    trace = read_trace(
        tmp_path, process(span(1, None, *reversed(chain), attributes=reported("4999", own="4999")))
    )
    assert trace.root_cause == "0"
    assert trace.losses == ()


@pytest.mark.parametrize(
    ("document", "loss", "omitted"),
    [
        (process(span(2, 1, seen(event("e1")))), "span_missing", False),
        (process(failing_span(end=None)), "unended", False),
        (process(failing_span(droppedEventsCount=3)), "dropped_events", True),
        (process(failing_span(droppedAttributesCount=1)), "dropped_events", True),
        (process(failing_span(attributes=reported("e1", "gone"))), "event_missing", True),
        (process(failing_span(attributes=reported("e1", own="gone"))), "event_missing", True),
    ],
)
def test_each_loss_of_a_trace_is_named(
    document: dict[str, Any], loss: str, omitted: bool, tmp_path: Path
) -> None:
    """A missing parent or end, dropped events and missing ids are one loss each.

    The report is `omitted` if a written id was not found or something was dropped.

    """
    trace = read_trace(tmp_path, document)
    assert loss_kinds(trace.losses) == [loss]
    assert trace.report.omitted is omitted
    assert list(trace.report.events) == ["e1"]


def test_a_cycle_of_causes_through_two_traces_is_a_loss_of_each(tmp_path: Path) -> None:
    """The walk along the causes ends, and each trace has one `cycle`."""
    reading = read_documents(
        tmp_path,
        process(span(1, None, seen(event("a", cause_id="b"), 1))),
        process(span(2, None, seen(event("b", cause_id="a"), 2), trace=OTHER_TRACE)),
    )
    assert [loss_kinds(trace.losses) for trace in reading.traces] == [["cycle"], ["cycle"]]


def test_a_span_with_an_invalid_parent_id_is_not_the_root(tmp_path):
    """Its parent counts as missing."""
    root = span(1, None, seen(event("a")), attributes=reported("a", own="a"))
    child = span(2, None, seen(event("b")), attributes=reported("b", own="b"), start=-5)
    child["parentSpanId"] = "zz"
    trace = read_trace(tmp_path, process(root, child))
    assert trace.report.failure_id == "a"
    assert "span_missing" in loss_kinds(trace.losses)
