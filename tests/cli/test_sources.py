"""SOURCE and ID arguments: several read as one, directories, ids as people paste them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from builders import event
from failgraph.cli import main
from gym_rows import attempt_row, failed_run
from journals import line
from otlp_file import TRACE, process, seen, span, write

OTHER = "abcdef0123456789" * 2
THIRD = "abcdef99" + "0" * 24
ROW = failed_run(1, "agent_run_error", "ClientResponseError", 500, None)


class Done(NamedTuple):
    """What a command did.

    Attributes:
        code: The exit code.
        all_rows: The JSON objects.
        err: Standard error.
    """

    code: int
    all_rows: list[dict[str, Any]]
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The objects of traces."""
        return [row for row in self.all_rows if "trace_id" in row]

    @property
    def ids(self) -> list[str]:
        """The trace ids."""
        return [row["trace_id"] for row in self.rows]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Return a function that runs a command with --json."""

    def run_command(command: str, *arguments: object) -> Done:
        code = main([command, "--json", *map(str, arguments)])
        out, err = capsys.readouterr()
        return Done(code, [json.loads(each) for each in out.splitlines()], err)

    return run_command


def trace(trace_id: str, event_id: str = "e", *, start: int = 0, rollout: str = "") -> bytes:
    """A document with a trace of one span and one failure."""
    attributes = {"nemo.gym.rollout.id": rollout} if rollout else {}
    happened = seen(event(event_id), start + 5)
    one = span(1, None, happened, trace=trace_id, start=start, attributes=attributes)
    return json.dumps(process(one)).encode() + b"\n"


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A file of three failed traces, two of one rollout."""
    path = tmp_path / "three.jsonl"
    path.write_bytes(
        trace(TRACE, "e1", rollout="7-1")
        + trace(OTHER, "e2", start=10, rollout="7-2")
        + trace(THIRD, "e3", start=20, rollout="7-2")
    )
    return path


# --- several sources


def test_several_sources_are_read_as_one(run, tmp_path):
    """A trace whose spans are in two files is one trace, and each failure counts once."""
    (tmp_path / "a.jsonl").write_bytes(trace(TRACE, "e1") + trace(OTHER, "e2", start=10))
    below = span(2, 1, seen(event("e3"), 9))
    write(tmp_path / "b.jsonl", process(below), json.loads(trace(OTHER, "e2", start=10)))
    done = run("list", tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert (done.code, done.err) == (0, "")
    assert [(row["trace_id"], row["count"]) for row in done.rows] == [(TRACE, 2), (OTHER, 1)]
    assert run("show", tmp_path / "a.jsonl", tmp_path / "b.jsonl", TRACE).rows[0]["count"] == 2


def test_a_source_given_twice_is_read_once(run, three):
    """By the same name, by another name, and in its directory."""
    once = run("list", three)
    for more in (three, three.parent / "." / three.name, three.parent):
        assert run("list", three, more).rows == once.rows


def test_a_journal_is_a_source_like_any_other(run, tmp_path):
    """It adds what the trace has lost."""
    write(tmp_path / "t.jsonl", process(span(1, None), span(2, 1, seen(event("e1"), 5))))
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "policy-7-1.jsonl").write_bytes(line("lost") + line("e1"))
    (row,) = run("show", tmp_path / "t.jsonl", tmp_path / "journal").rows
    placements = {key: failure["placement"] for key, failure in row["failures"].items()}
    assert placements == {"e1": "span", "lost": "journal"}


def test_losses_of_several_sources_name_their_file(run, tmp_path):
    """One damaged source is a loss if another is usable, and an error if none is."""
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_bytes(trace(TRACE))
    bad.write_bytes(b'{"cut')
    done = run("list", good, bad, "--strict")
    assert (done.code, done.ids) == (1, [TRACE])
    assert str(bad) in done.err
    assert run("list", bad).code == 3


def test_a_missing_source_is_an_error_beside_others(run, three, tmp_path):
    """It may be a typing error."""
    for missing in (tmp_path / "nope.jsonl", tmp_path / "nope" / "x"):
        done = run("list", three, missing)
        assert (done.code, done.rows, str(missing) in done.err) == (3, [], True)


def test_sources_may_stand_between_options(run, three, tmp_path):
    """Also behind an option with a value."""
    (tmp_path / "more.jsonl").write_bytes(trace("f" * 32, "e9", start=30))
    done = run("list", three, "--since", "2020-01-01", tmp_path / "more.jsonl", "--limit", "2")
    assert done.ids == [THIRD, "f" * 32]


def test_standard_input_beside_a_file(run, three, tmp_path, monkeypatch):
    """`-` is a source among others."""
    (tmp_path / "in").write_bytes(trace("f" * 32, "e9", start=30))
    with (tmp_path / "in").open("rb") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert run("list", "-", three).ids == [TRACE, OTHER, THIRD, "f" * 32]


@pytest.mark.parametrize("command", ["list", "show", "top"])
def test_the_former_option_says_what_to_do(command, run, three):
    """`--journal` ends with 2 and names the call without it."""
    done = run(command, three, "--journal", "kept")
    assert (done.code, done.rows) == (2, [])
    assert f"failgraph {command} --json {three} kept" in done.err


# --- a directory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run: traces in two formats, rows, a journal in a directory of its own, and other files."""
    run = tmp_path / "run"
    (run / "journal").mkdir(parents=True)
    (run / "traces.jsonl").write_bytes(trace(TRACE, "e1"))
    (run / "old.json.gz").write_bytes(gzip.compress(trace(OTHER, "e2", start=10)))
    (run / "rollouts.jsonl").write_text(json.dumps(ROW))
    (run / "journal" / "policy-7-1.jsonl").write_bytes(line("lost", 1, trace_id=THIRD))
    (run / "config.json").write_text('{\n  "model": "m"\n}\n')
    (run / "rollouts_failures.jsonl").touch()
    (run / "model.safetensors").write_bytes(bytes(1000))
    (run / ".hidden.jsonl").write_bytes(trace("e" * 32))
    (run / "link.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    return run


def test_a_directory_is_a_run(run, folder):
    """Its traces, rows and journals are read together, and a message names what was not used."""
    done = run("list", folder)
    assert done.code == 0
    assert {TRACE, OTHER, THIRD} < set(done.ids)
    assert len(done.ids) == 4
    assert done.err == (
        f"failgraph: not used: {folder}/config.json (1 JSON document of another kind: no spans,"
        f" saved rows or journal lines), {folder}/rollouts_failures.jsonl (empty)\n"
    )


def test_a_damaged_file_of_a_run_is_a_loss(run, folder):
    """It may have had failures; the others are read."""
    (folder / "cut.jsonl").write_bytes(trace("f" * 32)[:40])
    (folder / "packed.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    done = run("list", folder, "--strict")
    assert (done.code, len(done.ids)) == (1, 4)
    assert f"{folder}/cut.jsonl" in done.err
    assert f"{folder}/packed.jsonl.zst is compressed with zstandard" in done.err


def test_a_directory_without_traces_is_an_error(run, tmp_path):
    """The message names its files, or which files are looked for."""
    empty = run("list", tmp_path)
    assert (empty.code, "Their names end in .jsonl" in empty.err) == (3, True)
    (tmp_path / "config.json").write_text("{}")
    other = run("list", tmp_path)
    assert (other.code, f"{tmp_path}/config.json: 1 JSON document" in other.err) == (3, True)


def test_an_empty_journal_beside_a_file_is_no_error(run, three, tmp_path):
    """A process that has not failed yet has written none."""
    (tmp_path / "journal").mkdir()
    done = run("list", three, tmp_path / "journal")
    assert (done.code, done.err, done.rows) == (0, "", run("list", three).rows)


# --- ids


@pytest.mark.parametrize(
    "text",
    [
        OTHER,
        OTHER.upper(),
        "abcdef01",
        "0xABCDEF01",
        "abcdef01…",
        f"  {OTHER}\n",
        "abcdef01-2345-6789-abcd-ef0123456789",
        "{ABCDEF01-2345-6789-ABCD-EF0123456789}",
        f"00-{OTHER}-00f067aa0ba902b7-01",
        f"traceparent: 00-{OTHER}-00f067aa0ba902b7-01",
        "1-abcdef01-23456789abcdef0123456789",
        "Root=1-abcdef01-23456789abcdef0123456789;Parent=53995c3f42cd8ad8;Sampled=1",
    ],
)
def test_trace_ids_are_taken_as_people_paste_them(text, run, three):
    """From logs, headers, and pages of other tools."""
    assert run("show", three, text).ids == [OTHER]


def test_several_ids_are_shown_in_their_order(run, three):
    """Of traces and rollouts, each trace once."""
    assert run("show", three, "7-2", TRACE[:4]).ids == [OTHER, THIRD, TRACE]
    assert run("show", TRACE, three, "7-1", "abcdef9").ids == [TRACE, THIRD]


def test_a_limit_beside_ids_keeps_the_newest(run, three):
    """By their start, whatever the order of the ids; they are still shown in that order."""
    note = "failgraph: showing the newest {} of 3 traces. Use a larger --limit to see more.\n"
    one, two = (run("show", three, "abcdef9", TRACE, "abcdef01", "-n", n) for n in (1, 2))
    assert (one.ids, one.err) == ([THIRD], note.format(1))
    assert (two.ids, two.err) == ([THIRD, OTHER], note.format(2))


def test_an_ambiguous_id_is_an_error(run, three):
    """The message gives as many digits as are needed."""
    done = run("show", three, "abcdef")
    assert (done.code, done.rows) == (3, [])
    assert "2 trace ids in" in done.err
    assert "start with abcdef: abcdef01, abcdef99. Give more digits." in done.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dead", "no trace id in {source} starts with dead."),
        ("d" * 32, "{source} does not have trace " + "d" * 32 + "."),
        ("abc", "no rollout abc in {source}; for a trace id, give 4 digits or more."),
        ("7-9", "no rollout 7-9 in {source}, and it is not a trace id."),
        ("", "an id is empty."),
        ("nope.jsonl", "nope.jsonl: no such file."),
        ("a/b", "a/b: no such file"),
        ("nope/", "nope/: no such directory"),
        ("localhost:3200", "localhost:3200: no such file. Did you mean http://localhost:3200?"),
    ],
)
def test_what_is_neither_a_source_nor_a_known_id_is_an_error(text, problem, run, three):
    """What has a slash or an extension is taken for a file."""
    done = run("show", three, TRACE, text)
    assert (done.code, done.rows) == (3, [])
    assert problem.format(source=three) in done.err


def test_an_id_that_is_nearly_that_of_a_rollout_gets_a_suggestion(run, tmp_path):
    """It is typed by hand more often than a trace id."""
    named = tmp_path / "named.jsonl"
    named.write_bytes(trace(TRACE, rollout="policy-17"))
    done = run("show", named, "polcy-17")
    assert "no rollout polcy-17 in " in done.err
    assert " (did you mean policy-17?). Run " in done.err
    assert "did you mean" not in run("show", named, "judge-3").err


def test_ids_behind_two_dashes(run, three, tmp_path, monkeypatch):
    """Then a file with the name of an id, or an id with an extension, can be meant."""
    monkeypatch.chdir(tmp_path)
    Path("7-2").write_bytes(trace("f" * 32, "e9", start=30))
    assert len(run("show", three, "7-2").ids) == 4
    assert run("show", three, "--", "7-2").ids == [OTHER, THIRD]
    Path("named.jsonl").write_bytes(trace("f" * 32, rollout="run.a"))
    assert run("show", "named.jsonl", "run.a").code == 3
    assert run("show", "named.jsonl", "--", "run.a").ids == ["f" * 32]


def test_an_id_without_a_source_is_an_error(run):
    """The message says what a source is."""
    done = run("show", OTHER)
    assert (done.code, done.err) == (
        3,
        (
            f"failgraph: {OTHER}: no such file. A source is a file, a directory, -, jaeger, tempo"
            " or a URL.\n"
        ),
    )


# --- each failure once


def row_of(*event_ids: str, rollout: int = 1, **others: Any) -> bytes:
    """A saved row with a report of these failures, each the cause of the next."""
    events = {}
    for number, event_id in enumerate(event_ids):
        cause = {"cause_id": event_ids[number - 1]} if number else {}
        events[event_id] = {"failure_kind": "judge_failed", "boundary": "agent", **cause}
    report = {"events": events, "failure_id": event_ids[-1]}
    return json.dumps(attempt_row(7, rollout, failure_report=report, **others)).encode() + b"\n"


def test_a_row_whose_failures_are_in_a_trace_is_counted_once(run, tmp_path):
    """By `list`, `top` and `show`; the trace takes over the id of the rollout."""
    (tmp_path / "t.jsonl").write_bytes(trace(TRACE, "e1") + trace(OTHER, "e2", start=10))
    (tmp_path / "rows.jsonl").write_bytes(row_of("e1") + row_of("e9", rollout=2))
    both = tmp_path / "rows.jsonl", tmp_path / "t.jsonl"
    listed = run("list", *both)
    assert [(row["rollout_id"], row["count"]) for row in listed.rows] == [
        ("7-2", 1),
        ("7-1", 1),
        (None, 1),
    ]
    assert listed.ids[1:] == [TRACE, OTHER]
    assert run("show", *both, "7-1").ids == [TRACE]
    assert sum(row["count"] for row in run("top", *both).all_rows if "count" in row) == 3


def test_a_row_that_knows_more_than_the_trace_stays(run, tmp_path):
    """What the trace holds too is counted there."""
    (tmp_path / "t.jsonl").write_bytes(trace(TRACE, "e1"))
    (tmp_path / "rows.jsonl").write_bytes(row_of("e1", "e2"))
    assert len(run("list", tmp_path).rows) == 2
    assert sum(row["count"] for row in run("top", tmp_path).all_rows if "count" in row) == 2


def test_a_row_and_a_journal_are_counted_once(run, tmp_path):
    """In either order of the sources."""
    (tmp_path / "rows.jsonl").write_bytes(row_of("lost"))
    (tmp_path / "journal.jsonl").write_bytes(line("lost"))
    for names in (("rows", "journal"), ("journal", "rows")):
        (row,) = run("list", *(tmp_path / f"{name}.jsonl" for name in names)).rows
        assert (row["trace_id"], row["rollout_id"], row["count"]) == (TRACE, "7-1", 1)


@pytest.mark.parametrize(
    "saved",
    [
        row_of("e1", agent_ref={"name": "agent"}),
        json.dumps(attempt_row(7, 1, _ng_failure_class="judge_failed", error="none")).encode(),
    ],
    ids=["report", "class"],
)
def test_a_row_and_its_exported_span_are_one_trace_without_loss(saved, run, tmp_path, capsys):
    """Also if the export named the process and a time: it is the same row."""
    pytest.importorskip("opentelemetry.exporter.otlp.json.file")
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(saved)
    assert main(["export", str(rows), "-o", str(tmp_path / "spans.jsonl")]) == 0
    capsys.readouterr()
    for names in (("rows", "spans"), ("spans", "rows")):
        done = run("list", "--strict", *(tmp_path / f"{name}.jsonl" for name in names))
        (row,) = done.rows
        assert (row["rollout_id"], row["count"], row["losses"]) == ("7-1", 1, [])
        assert (done.code, done.all_rows[-1]["losses"], done.err) == (0, [], "")


# --- options that do not apply


def test_traces_without_a_time_are_named_with_since_and_until(run, tmp_path):
    """A saved row has none: it stays in the list, and the note says so."""
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(row_of("e1") + row_of("e2", rollout=2))
    note = "failgraph: 2 traces have no time, so --since and --until do not apply to them\n"
    assert run("list", rows, "--since", "1h") == (0, run("list", rows).all_rows, note)
    assert run("list", rows, "--since", "1h", "-q").err == ""


def test_filters_beside_ids_are_named(run, three):
    """An id selects a trace, whatever else is asked."""
    done = run("show", three, OTHER, "--kind", "other kind", "--service", "s")
    assert done.ids == [OTHER]
    assert done.err == ("failgraph: with IDs, --kind 'other kind' --service s has no effect\n")
