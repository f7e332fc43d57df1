"""Saved rows as a source: one trace per attempt, with the failures of the row."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from failgraph.cli import main
from failgraph.errors import SourceError
from failgraph.readers import Trace, read, spans
from failgraph.view import list_row, show_row
from gym_rows import EVIDENCE, FAILING, INPUT, ROWS, Row, attempt_row, lines, scored

pytestmark = pytest.mark.once

ROW_ID = re.compile(r"row-[0-9a-f]{32}-")


@pytest.fixture
def file(tmp_path: Path):
    """Write rows as a file."""

    def write(*rows: object) -> Path:
        path = tmp_path / "rollouts.jsonl"
        path.write_bytes(lines(*rows))
        return path

    return write


def report_of(trace: Trace) -> Any:
    """Return the report on the wire, with short ids."""
    return json.loads(ROW_ID.sub("row-", trace.report.model_dump_json()))


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.name)
def test_each_shape_of_row_gives_its_report(case: Row, file) -> None:
    """Failures, causes, own failure, rollout and server are read without a loss."""
    reading = read(file(case.row))
    (trace,) = reading.traces
    assert report_of(trace)["events"] == case.events
    assert report_of(trace).get("failure_id") == case.failure_id
    assert trace.rollout_ids == ((case.rollout_id,) if case.rollout_id else ())
    assert trace.service == case.service
    assert (trace.losses, reading.losses, reading.rows) == ((), (), 1)
    (hop,) = trace.hops
    assert hop.report == trace.report.model_copy(update={"omitted": case.omitted})
    assert hop.unreported == {}


def test_a_row_that_scored_did_not_fail(file) -> None:
    """Its failures are recovered: they are on the chain of no own failure."""
    for case in FAILING:
        (trace,) = read(file(case.row)).traces
        if case.failure_id is None:
            assert trace.recovered == frozenset(trace.failures)
            assert trace.root.status == ""
        else:
            assert trace.root.status == "ERROR"


def test_each_attempt_is_a_trace_of_its_own(file) -> None:
    """Also one without failures."""
    reading = read(file(*(case.row for case in ROWS)))
    assert reading.trace_count == reading.rows == len(ROWS)
    assert len(reading.traces) == len(FAILING)


def test_traces_stay_in_the_order_of_the_file(file) -> None:
    """A row has no time to sort by."""
    traces = read(file(*(case.row for case in ROWS))).traces
    assert [trace.rollout_ids for trace in traces] == [(case.rollout_id,) for case in FAILING]


def test_ids_are_made_of_the_content(file, tmp_path: Path) -> None:
    """The same row in another format is the same trace; any difference makes another one."""
    row = FAILING[0].row
    pretty = json.dumps(dict(reversed(row.items())), indent=2).encode()
    other = tmp_path / "other.jsonl"
    other.write_bytes(lines({**row, "_ng_task_id": "other"}))
    first, second, third = (next(iter(spans(path))) for path in (file(row), file(pretty), other))
    assert (first.trace_id, first.span_id) != (third.trace_id, third.span_id)
    assert second == next(iter(spans(file(row))))
    assert first == second


def test_times_are_unknown_and_no_loss(file) -> None:
    """Start, duration and times of failures are null."""
    path = file(FAILING[1].row)
    (trace,) = read(path).traces
    shown = show_row(trace)
    assert (list_row(trace)["start_unix_nano"], list_row(trace)["duration_nano"]) == (None, None)
    for failure in shown["failures"].values():
        assert failure["placement"] == "row"
        times = ("time_unix_nano", "offset_nano", "cause_delay_nano")
        assert [failure[key] for key in times] == [None] * 3
    assert main(["list", str(path), "--strict"]) == 0


@pytest.mark.parametrize("row", [*EVIDENCE, INPUT])
def test_evidence_and_inputs_are_no_attempts(row, file) -> None:
    """They give no trace; beside attempts they are skipped without a loss."""
    reading = read(file(row, scored(1)))
    assert (reading.trace_count, reading.losses) == (1, ())
    with pytest.raises(SourceError, match="1 saved row, but no attempt that Gym counted"):
        read(file(row))


def test_no_rows_no_failures_and_no_rollout_file_are_three_messages(file, capsys) -> None:
    """For an empty file, clean rollouts, and a file of something else."""
    results = []
    for rows in ((), (scored(1), scored(2)), ({"hello": 1},)):
        code = main(["list", str(file(*rows))])
        results.append((code, capsys.readouterr().err))
    assert [code for code, _ in results] == [3, 0, 3]
    assert results[0][1].endswith("rollouts.jsonl: empty\n")
    assert results[1][1] == "failgraph: no failures in 2 saved rows\n"
    assert results[2][1].endswith(
        "1 JSON document of another kind: no spans, saved rows or journal lines\n"
    )


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"schema_version": 2}, "schema_version 2"),
        ({"schema_version": True}, "schema_version True"),
        ({"extra": 1}, "unknown field extra"),
        ({"failure": {"failure_reason": "x", "terminal": True, "novel": 1}}, "unknown field novel"),
        ({"failure": None}, "without a failure"),
        ({"source": "moon"}, "source is neither"),
        ({"delivery": "maybe"}, "unknown delivery"),
    ],
)
def test_an_unknown_envelope_is_refused(row, problem, file) -> None:
    """Gym asks readers of a `RolloutFailure` to refuse unknown versions and fields."""
    (case,) = (case for case in ROWS if case.name.endswith("RolloutFailure of the environment"))
    reading = read(file({**case.row, **row}, scored(1)))
    assert reading.traces == []
    ((kind, detail),) = reading.losses
    assert kind == "bad_line"
    assert detail.startswith("line 1: a RolloutFailure")
    assert problem in detail


def test_a_broken_line_costs_only_itself(file) -> None:
    """A collector that is killed while writing leaves one."""
    row = json.dumps(FAILING[0].row).encode()
    reading = read(file(row[:80], FAILING[1].row, b'{"_ng_task', FAILING[3].row, row[:-5]))
    assert [trace.rollout_ids[0] for trace in reading.traces] == [
        FAILING[1].rollout_id,
        FAILING[3].rollout_id,
    ]
    assert [loss.detail for loss in reading.losses] == [
        f"line {number} is incomplete JSON" for number in (1, 3, 5)
    ]


@pytest.mark.parametrize(
    ("events", "failure_id", "kinds"),
    [
        ({"a": {"boundary": "moon"}}, "a", {"attribute_missing", "event_missing"}),
        (
            {"a": {"boundary": "agent", "failure_kind": "x", "cause_id": "gone"}},
            "a",
            {"cause_missing"},
        ),
        ({"a": {"boundary": "agent", "failure_kind": "x", "cause_id": "a"}}, "a", {"cycle"}),
        (
            {"a": {"boundary": "agent", "failure_kind": "x", "http_status": 9}},
            None,
            {"unknown_field"},
        ),
        ({"a": {"boundary": "agent", "failure_kind": "Not A Name"}}, None, {"unknown_kind"}),
        (
            {"a": {"boundary": "agent", "failure_kind": "x", "failure_reason": "y" * 3000}},
            None,
            {"text_cut"},
        ),
        ({}, "gone", {"event_missing"}),
        ([1], "gone", {"event_missing"}),
    ],
)
def test_damage_in_a_report_is_a_loss(events, failure_id, kinds, file) -> None:
    """What is left of the report is read."""
    reading = read(
        file(attempt_row(1, reward=1, _ng_failure_events=events, _ng_failure_id=failure_id))
    )
    (trace,) = reading.traces
    assert {loss.kind for loss in (*reading.losses, *trace.losses)} == kinds


@pytest.mark.parametrize(
    "events", [{}, [1], {"gone": {"failure_kind": "x"}}, {"other": {"boundary": "model"}}]
)
def test_without_the_own_failure_the_class_of_the_row_counts(events, file) -> None:
    """The rollout failed with that; the report stays omitted."""
    row = attempt_row(
        1, _ng_failure_class="judge_failed", _ng_failure_events=events, _ng_failure_id="gone"
    )
    (trace,) = read(file(row)).traces
    own = trace.report.events[trace.report.failure_id]
    assert own.failure_kind == "judge_failed"
    assert trace.hops[0].report.omitted


def test_a_row_with_too_many_failures_keeps_256(file) -> None:
    """First the own chain, then the newest: a larger trace would not fit a backend."""
    events: dict[str, Any] = {
        f"e{n}": {"boundary": "model", "failure_kind": "x"} for n in range(1000)
    }
    events["e5"]["cause_id"] = "e3"
    (trace,) = read(
        file(attempt_row(1, _ng_failure_class="x", _ng_failure_events=events, _ng_failure_id="e5"))
    ).traces
    assert len(trace.failures) == 256
    assert {"e5", "e3", "e999"} <= trace.failures.keys()
    assert trace.root_cause == "e3"
    assert trace.hops[0].report.omitted


def test_hostile_rows_never_raise(file) -> None:
    """Values of every wrong type, in every key that is read."""
    keys = [
        "_ng_failure_class",
        "_ng_failure_stage",
        "_ng_failure_message",
        "_ng_failure_type",
        "_ng_failure_events",
    ]
    keys += [
        "_ng_failure_http_status",
        "_ng_failure_response_body",
        "_ng_failure_id",
        "failure_kind",
        "failure_reason",
    ]
    keys += [
        "mask_sample",
        "_ng_rollout_id",
        "_ng_attempt_index",
        "agent_ref",
        "response",
        "failure",
        "failure_report",
    ]
    wrong: list[Any] = [
        None,
        True,
        7,
        -1,
        1e400,
        "x",
        "\ud800\x1b[2J",
        [],
        [[]],
        {},
        {"name": 3},
        {"events": 4},
    ]
    rows = [
        scored(1, _ng_failure_class="judge_failed", **{key: value})
        for key in keys
        if key != "_ng_failure_class"
        for value in wrong
    ]
    rows += [scored(1, _ng_failure_class=value) for value in wrong] + [
        {**scored(1), key: value} for key in keys for value in wrong
    ]
    reading = read(file(*rows))
    assert reading.rows == len(rows)
    for trace in reading.traces:
        json.dumps(show_row(trace)).encode()


def test_many_losses_of_a_kind_are_counted(file) -> None:
    """The first twenty are named by their lines."""
    reading = read(
        file(
            *(
                attempt_row(number, _ng_failure_class="x", _ng_failure_message="y" * 3000)
                for number in range(50)
            )
        )
    )
    assert len(reading.losses) == 21
    assert reading.losses[0].detail.endswith("line 1")
    assert reading.losses[-1] == ("text_cut", "30 more")


def test_gzip_and_arrays_of_rows_are_read(file, tmp_path: Path) -> None:
    """They give the same traces as plain lines."""
    plain = [trace.trace_id for trace in read(file(*(case.row for case in FAILING))).traces]
    packed = tmp_path / "rollouts.jsonl.gz"
    packed.write_bytes(gzip.compress(lines(*(case.row for case in FAILING))))
    array = tmp_path / "rollouts.json"
    array.write_text(json.dumps([case.row for case in FAILING]))
    for path in (packed, array):
        assert [trace.trace_id for trace in read(path).traces] == plain


def test_texts_of_rows_are_redacted_where_they_are_shown(file, capsys) -> None:
    """A secret in a message, a body or a server's name is in no output."""
    secret = "sk-" + "a1B2" * 8
    case = FAILING[1].row
    row = {
        **case,
        "_ng_failure_message": f"api_key={secret}",
        "_ng_failure_response_body": json.dumps(repr(ValueError(secret))),
    }
    path = file(row)
    for command in (["list"], ["show"], ["show", "--json"], ["top"]):
        main([command[0], str(path), *command[1:]])
    shown = capsys.readouterr().out
    assert "[redacted:" in shown
    assert secret not in shown
