"""The rows of `list --json` and `show --json`: their keys, and null for what is unknown."""

from __future__ import annotations

from pathlib import Path

from builders import event
from failgraph.codec import encode_event
from failgraph.view import list_row, show_row
from otlp_file import PREFIX, SECOND, SERVER, T0, TRACE, process, raw_event, reported, seen, span
from trace_reading import CAUSE_CHAIN, failing_span, loss_kinds, read_documents, read_trace

HEAD = {
    "trace_id",
    "start_unix_nano",
    "duration_nano",
    "service",
    "rollout_id",
    "root_cause",
    "failure_id",
} | {
    "count",
    "recovered",
}


def test_rows_have_exactly_the_documented_keys(tmp_path: Path) -> None:
    """Each key of `list` and `show`, with its value."""
    trace = read_trace(
        tmp_path,
        process(
            span(1, None, name="rollout", end=100, attributes=reported("a", "b", own="b")),
            span(
                2,
                1,
                *CAUSE_CHAIN[:2],
                name="run",
                kind=SERVER,
                start=10,
                end=40,
                attributes=reported("b"),
            ),
        ),
    )
    head = {
        "trace_id": TRACE,
        "start_unix_nano": T0,
        "duration_nano": 100,
        "service": "gym",
        "rollout_id": None,
        "root_cause": {"event_id": "a", "kind": "judge_failed", "boundary": "agent"},
        "failure_id": "b",
        "count": 2,
        "recovered": 0,
        "losses": [],
    }
    fields = {"failure_kind": "judge_failed", "boundary": "agent", "failure_reason": ""}
    whole = {
        "events": {"a": fields, "b": {**fields, "cause_id": "a"}},
        "failure_id": "b",
        "omitted": False,
    }
    place = {"trace_id": TRACE, "span_id": f"{2:016x}", "service": "gym", "placement": "span"}
    assert list_row(trace) == head
    assert show_row(trace) == {
        **head,
        "report": whole,
        "hops": [
            {
                "span_id": f"{1:016x}",
                "service": "gym",
                "name": "rollout",
                "offset_nano": 0,
                "duration_nano": 100,
                "report": whole,
                "unreported": {},
            },
            {
                "span_id": f"{2:016x}",
                "service": "gym",
                "name": "run",
                "offset_nano": 10,
                "duration_nano": 30,
                "report": {"events": {"b": fields}, "omitted": False},
                "unreported": {"a": "no_reply"},
            },
        ],
        "failures": {
            "a": {**place, "time_unix_nano": T0 + 1, "offset_nano": 1, "cause_delay_nano": None},
            "b": {**place, "time_unix_nano": T0 + 2, "offset_nano": 2, "cause_delay_nano": 1},
        },
    }


def test_unknown_values_are_null(tmp_path: Path) -> None:
    """No key is absent."""
    attributes = {
        key: value for key, value in encode_event(event("e1")).items() if key != PREFIX + "id"
    }
    row = show_row(read_trace(tmp_path, process(span(1, 9, raw_event(attributes), end=None))))
    assert set(row) == {*HEAD, "report", "hops", "failures", "losses"}
    assert [row[key] for key in ("root_cause", "failure_id", "recovered")] == [None] * 3
    assert (row["count"], row["failures"]) == (0, {})
    assert {loss["kind"] for loss in row["losses"]} >= {"id_missing", "span_missing", "unended"}
    assert all(set(loss) == {"kind", "detail"} for loss in row["losses"])
    row = show_row(read_trace(tmp_path, process(failing_span(end=None))))
    assert row["hops"] == [
        {
            "span_id": f"{1:016x}",
            "service": "gym",
            "name": "span-1",
            "offset_nano": 0,
            "duration_nano": None,
            "report": None,
            "unreported": {"e1": "no_reply"},
        }
    ]


def test_unknown_times_are_null(tmp_path):
    """An event without a time and a span without a start are losses, not offsets from 1970."""
    timeless = seen(event("e"))
    del timeless["timeUnixNano"]
    unstarted = span(2, None, seen(event("f")))
    del unstarted["startTimeUnixNano"]
    trace = read_trace(
        tmp_path, process(span(1, None, timeless, attributes=reported("e", own="e")), unstarted)
    )
    row = show_row(trace)
    assert (row["failures"]["e"]["time_unix_nano"], row["failures"]["e"]["offset_nano"]) == (
        None,
        None,
    )
    assert row["failure_id"] == "e"
    assert row["duration_nano"] == SECOND
    assert loss_kinds(trace.losses).count("attribute_missing") == 2


def test_an_unknown_service_is_null(tmp_path):
    """It is never an empty text."""
    document = process(span(1, None, seen(event("e"))))
    document["resourceSpans"][0]["resource"] = {}
    row = show_row(read_documents(tmp_path, document).traces[0])
    assert (row["service"], row["hops"][0]["service"], row["failures"]["e"]["service"]) == (
        None,
        None,
        None,
    )
