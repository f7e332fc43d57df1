"""Which spans are hops, what each hop reported, and why a failure is unreported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import event
from failgraph import FailureReport
from failgraph.view import show_row
from otlp_file import (
    CLIENT,
    CONSUMER,
    INTERNAL,
    PREFIX,
    PRODUCER,
    SERVER,
    T0,
    failure_span,
    process,
    reported,
    seen,
    span,
)
from trace_reading import hop_of, loss_kinds, read_trace


@pytest.mark.parametrize(
    ("inner", "is_hop"),
    [
        ({"kind": INTERNAL}, False),
        ({"kind": CLIENT}, False),
        ({"kind": PRODUCER}, False),
        ({"kind": SERVER}, True),
        ({"kind": CONSUMER}, True),
        ({"kind": INTERNAL, "attributes": {PREFIX + "schema_version": 1}}, True),
    ],
)
def test_which_spans_are_hops(inner: dict[str, Any], is_hop: bool, tmp_path: Path) -> None:
    """SERVER and CONSUMER spans, and spans with a report; a failure belongs to the nearest."""
    trace = read_trace(
        tmp_path, process(span(1), span(2, 1, **inner), span(3, 2, seen(event("e1"))))
    )
    assert hop_of(trace, 2 if is_hop else 1).failures == ["e1"]
    assert [each.span.span_id for each in trace.hops if each.failures] == [
        f"{2 if is_hop else 1:016x}"
    ]


def test_the_first_span_of_a_process_is_a_hop(tmp_path: Path) -> None:
    """A span whose parent is in another process, or missing, is a hop."""
    trace = read_trace(
        tmp_path, process(span(1)), process(span(2, 1, seen(event("e1"))), service="other")
    )
    assert hop_of(trace, 2).failures == ["e1"]
    trace = read_trace(tmp_path, process(span(1)), process(span(2, 99, seen(event("e1")))))
    assert hop_of(trace, 2).failures == ["e1"]


def test_two_processes_of_one_service_are_two_hops(tmp_path: Path) -> None:
    """Another resource is another process, even with the same service name."""
    named = {"service.instance.id": "two"}
    trace = read_trace(tmp_path, process(span(1)), process(span(2, 1, seen(event("e1"))), **named))
    assert hop_of(trace, 2).failures == ["e1"]


def test_a_failure_span_is_not_a_hop(tmp_path: Path) -> None:
    """Its failure belongs to the hop above, and keeps its own placement."""
    held = failure_span(3, 2, seen(event("e1"), 7), kind=SERVER)
    trace = read_trace(
        tmp_path, process(span(1), span(2, 1, kind=SERVER)), process(held, service="other")
    )
    assert hop_of(trace, 2).failures == ["e1"]
    assert not [each for each in trace.hops if each.span.name == "nemo.gym.failure"]
    assert trace.failures["e1"].placement == "failure_span"
    assert trace.failures["e1"].time_unix_nano == T0 + 7


def test_the_report_of_a_hop_holds_the_ids_it_wrote(tmp_path: Path) -> None:
    """A cause that is not among them is cleared in the report, and kept in the trace."""
    inner = span(
        2,
        1,
        seen(event("a")),
        seen(event("b", cause_id="a")),
        kind=SERVER,
        attributes=reported("b", own="b"),
    )
    trace = read_trace(tmp_path, process(span(1, attributes=reported("b", "a")), inner))
    assert hop_of(trace, 2).report == FailureReport(events={"b": event("b")}, failure_id="b")
    assert hop_of(trace, 1).report == FailureReport(
        events={"a": event("a"), "b": event("b", cause_id="a")}
    )
    assert trace.report.events["b"].cause_id == "a"
    assert trace.report.failure_id is None
    assert trace.losses == ()


@pytest.mark.parametrize(
    ("happened", "inner", "middle", "reason"),
    [
        ({}, reported("x"), reported(), "no_reply"),
        ({}, None, None, "no_reply"),
        ({"late": True}, reported("x"), reported(), "late"),
        ({}, reported("x", omitted=True), reported(), "cut"),
        ({}, reported("x"), reported(omitted=True), "cut"),
        ({"late": True}, reported("x", omitted=True), reported(omitted=True), "late"),
    ],
)
def test_why_a_failure_is_unreported(
    happened: dict[str, bool],
    inner: dict[str, object] | None,
    middle: dict[str, object] | None,
    reason: str,
    tmp_path: Path,
) -> None:
    """`late` if the event is; `cut` if a hop in between wrote report.omitted; else `no_reply`."""
    trace = read_trace(
        tmp_path,
        process(
            span(1, None, seen(event("own"), 2), attributes=reported("own", own="own")),
            span(2, 1, kind=SERVER, attributes=middle),
            span(
                3,
                2,
                seen(event("e1"), 5, **happened),
                seen(event("x"), 6),
                kind=SERVER,
                attributes=inner,
            ),
        ),
    )
    assert hop_of(trace, 1).unreported["e1"] == reason
    assert "own" not in hop_of(trace, 1).unreported


def test_only_a_hop_on_the_way_cuts_a_failure(tmp_path: Path) -> None:
    """A sibling that wrote report.omitted does not make the reason `cut`."""
    trace = read_trace(
        tmp_path,
        process(
            span(1, attributes=reported("s")),
            span(2, 1, seen(event("s")), kind=SERVER, attributes=reported("s", omitted=True)),
            span(3, 1, seen(event("e1")), kind=SERVER),
        ),
    )
    assert hop_of(trace, 1).unreported == {"e1": "no_reply"}


def test_a_failure_lost_by_the_backend_is_not_cut(tmp_path: Path) -> None:
    """A hop without report.omitted cut nothing, even if a failure that it reported is missing."""
    trace = read_trace(
        tmp_path,
        process(
            span(1, attributes=reported("gone")),
            span(2, 1, seen(event("e1")), kind=SERVER, attributes=reported("gone")),
        ),
    )
    assert hop_of(trace, 1).unreported == {"e1": "no_reply"}
    assert loss_kinds(trace.losses) == ["event_missing"]


def test_a_reported_failure_is_not_unreported(tmp_path: Path) -> None:
    """A failure that every hop above reports is unreported nowhere."""
    trace = read_trace(
        tmp_path,
        process(
            span(1, attributes=reported("e1")),
            span(2, 1, seen(event("e1")), attributes=reported("e1", own="e1")),
        ),
    )
    assert [each.unreported for each in trace.hops] == [{}, {}]


def test_a_cycle_of_parents_is_read(tmp_path: Path) -> None:
    """Spans that are each other's parents are read, and their failures are in the report."""
    trace = read_trace(
        tmp_path,
        process(
            span(1, 2, seen(event("e1"))), span(2, 1), span(3, 3, seen(event("e2")), kind=SERVER)
        ),
    )
    assert set(trace.report.events) == {"e1", "e2"}
    assert trace.report.failure_id is None
    show_row(trace)


@pytest.mark.parametrize("kind", [INTERNAL, SERVER])
def test_5000_nested_spans_are_read(kind: int, tmp_path: Path) -> None:
    """Depth causes no recursion, and every hop above lists the failure as unreported."""
    nested = [span(number, number - 1 or None, kind=kind) for number in range(1, 5000)]
    trace = read_trace(tmp_path, process(*reversed(nested), span(5000, 4999, seen(event("e1")))))
    assert set(trace.report.events) == {"e1"}
    assert len(trace.hops) == (4999 if kind == SERVER else 1)
    assert hop_of(trace, 1).unreported == {"e1": "no_reply"}
    assert json.loads(json.dumps(show_row(trace)))["count"] == 1


def test_the_number_of_unreported_failures_is_bounded(tmp_path, monkeypatch):
    """Beyond the limit only the innermost hops list what they did not report."""
    from failgraph.traces import hops

    monkeypatch.setattr(hops, "_MAX_UNREPORTED", 1000)
    nest = [
        span(n, n - 1 or None, seen(event(f"e{n}")), kind=SERVER, start=n) for n in range(1, 301)
    ]
    trace = read_trace(tmp_path, process(*nest))
    assert sum(len(hop.unreported) for hop in trace.hops) < 1000 + 300 + 300 * hops._INNERMOST
    assert "partial_trace" in loss_kinds(trace.losses)
    assert all(f"e{int(hop.span.span_id, 16)}" in hop.unreported for hop in trace.hops)
