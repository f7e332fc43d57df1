"""The flags that all reading commands share: which there are, and what each does."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import event
from doc_tables import command_parsers
from failgraph.cli import output
from failgraph.cli.parser import build_parser
from json_output import results_in, source_in
from otlp_file import TRACE, process, reported, seen, span, write

READING = ("list", "show", "top")
FORMS = ((), ("--json",), ("--ids",))
RETRY, NAMELESS = "b" * 32, "c" * 32
REASON = "because " * 60


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two traces of rollout 7-1, a failed and a recovered one; one without a rollout; a bad line.

    The last trace has eleven losses.
    """
    rollout = {"nemo.gym.rollout.id": "7-1"}
    one = event("e1", kind="killed", failure_reason=REASON)
    return write(
        tmp_path / "source",
        process(span(1, None, seen(one), attributes={**reported("e1", own="e1"), **rollout})),
        process(
            span(
                1,
                None,
                seen(event("e2"), 5),
                trace=RETRY,
                start=5,
                attributes={**reported("e2"), **rollout},
            )
        ),
        process(
            span(1, None, seen(event("e3"), 9), trace=NAMELESS, start=9),
            *(span(at, at + 1000, trace=NAMELESS, start=9) for at in range(2, 13)),
        ),
        b"broken",
    )


# --- which there are


def test_every_reading_command_takes_the_same_flags():
    """What is learned for one command holds for the others."""

    def flags(command: str) -> dict[tuple[str, ...], tuple[object, ...]]:
        return {
            tuple(action.option_strings): (action.help, action.metavar, action.choices)
            for action in command_parsers()[command]._actions
            if action.option_strings
        }

    assert flags("list") == flags("show") == flags("top")
    assert ("-n", "--limit") in flags("list")


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize(
    "flags",
    [
        ["--since", "1h", "--until", "5m", "--kind", "k", "--boundary", "model"],
        ["--service", "s", "--limit", "3", "--full", "--quiet", "--color", "never"],
        ["-n", "3", "-q", "--ids", "--strict"],
        ["--json"],
    ],
    ids=" ".join,
)
def test_every_flag_is_taken_by_every_reading_command(command, flags, run, source):
    """None of them is wrong use; whether something is found does not matter."""
    assert run(command, source, *flags).code in (0, 1)


@pytest.mark.parametrize("command", command_parsers())
def test_every_help_shows_one_example_that_works(command, run):
    """Its words are a call that the parser takes."""
    _, _, examples = run(command, "--help").out.partition("\nexample:\n")
    (line,) = examples.splitlines()
    program, *words = shlex.split(line)
    assert (program, words[0]) == ("failgraph", command)
    assert build_parser().parse_args(words)


def test_the_examples_of_the_first_help_work(run):
    """Somebody who has never used failgraph starts there."""
    lines = [line for line in run("--help").out.splitlines() if line.startswith("  failgraph ")]
    assert len(lines) == 3
    for line in lines:
        assert build_parser().parse_args(shlex.split(line.strip().split("   ")[0])[1:])


# --- what is printed


def test_list_names_the_outcome_of_each_trace(run, source):
    """Failed with an own failure, recovered without one, unknown without a report."""
    lines = run("list", source, "-q", "--full").out.splitlines()
    rows = [line.split() for line in lines if not line.startswith("    ")]
    assert [(row[0], row[1]) for row in rows] == [
        ("7-1", "failed"),
        ("7-1", "recovered"),
        ("-", "unknown"),
    ]


@pytest.mark.parametrize("command", READING)
def test_ids_are_printed_once(command, run, source):
    """The rollout's id, or the trace's if it has none."""
    assert run(command, source, "--ids").out.splitlines() == ["7-1", NAMELESS]


@pytest.mark.parametrize(
    ("limit", "ids", "note"),
    [(1, ["7-1"], "1 of 3"), (2, ["7-2", "7-1"], "2 of 3"), (3, ["7-1", "7-2"], None)],
)
@pytest.mark.parametrize("command", ["list", "show"])
def test_ids_are_those_of_the_traces_that_are_shown(command, limit, ids, note, run, tmp_path):
    """With --limit, of the newest, also if an older trace has the same rollout."""
    attempts = [
        failed(TRACE, "7-1", start=1),
        failed(NAMELESS, "7-2", start=5),
        failed(RETRY, "7-1", start=9),
    ]
    done = run(command, write(tmp_path / "attempts", *attempts), "--ids", "-n", limit)
    assert done.out.splitlines() == ids
    message = f"failgraph: showing the newest {note} traces. Use a larger --limit to see more.\n"
    assert done.err == (message if note else "")


def test_ids_of_top_are_those_that_its_rows_count(run, tmp_path):
    """With --limit, the traces of the other rows are left out, however new."""
    rows = [
        failed(TRACE, "7-1", start=1),
        failed(NAMELESS, "7-2", start=5),
        failed(RETRY, "7-3", start=9, kind="killed"),
    ]
    done = run("top", write(tmp_path / "rows", *rows), "--ids", "-n", "1")
    assert done.out.splitlines() == ["7-1", "7-2"]
    assert "showing the first 1 of 2 rows" in done.err


def failed(trace: str, rollout: str, *, start: int, kind: str = "quota") -> dict[str, Any]:
    """A trace of a rollout, with one failure."""
    happened = seen(event(f"e{start}", kind=kind), start)
    attributes = {"nemo.gym.rollout.id": rollout}
    return process(span(1, None, happened, trace=trace, start=start, attributes=attributes))


@pytest.mark.parametrize("command", READING)
def test_ids_and_json_are_two_forms(command, run, source):
    """Both at once are wrong use."""
    done = run(command, source, "--ids", "--json")
    assert (done.code, done.out) == (2, "")


def test_full_prints_what_is_shortened(run, source):
    """Whole trace ids, whole reasons, and every loss."""
    assert TRACE not in run("list", source).out
    assert TRACE in run("list", source, "--full").out
    assert REASON.strip() not in run("show", source).out
    assert REASON.strip() in run("show", source, "--full").out
    short, full = (run("show", source, *more).out for more in ((), ("--full",)))
    assert (short.count("missing span: "), full.count("missing span: ")) == (10, 11)
    assert "1 more losses; --full lists all" in short
    assert run("list", source, "--full").out.count("missing span: ") == 11


def test_full_prints_every_loss_of_the_source(run, tmp_path):
    """Ten are named otherwise."""
    lines = [process(span(1, None, seen(event("e1")))), *[b"broken"] * 12]
    path = write(tmp_path / "f", *lines)
    assert run("list", path).err.count("unreadable data: ") == 10
    assert run("list", path, "--full").err.count("unreadable data: ") == 12


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
@pytest.mark.parametrize("command", READING)
def test_quiet_prints_results_only(command, form, run, source):
    """No heads, notes or losses; the exit code is the same."""
    loud, quiet = (run(command, source, *form, "-n", "1", *more) for more in ((), ("-q",)))
    assert loud.err != ""
    assert quiet.err == ""
    lines = loud.out.splitlines()
    has_head = not form and command != "show"
    assert quiet.out.splitlines() == lines[1 if has_head else 0 :]


@pytest.mark.parametrize("command", READING)
def test_quiet_shows_no_progress(command, run, source, monkeypatch):
    """Otherwise a bar is drawn on standard error if that is a terminal."""
    streams = []
    monkeypatch.setattr(output, "_terminal", lambda stream, *_: streams.append(stream))
    run(command, source)
    assert sys.stderr in streams
    streams.clear()
    run(command, source, "-q")
    assert sys.stderr not in streams


def test_quiet_prints_errors(run, tmp_path):
    """They are no notes."""
    assert run("list", tmp_path / "missing.jsonl", "-q").err != ""


@pytest.mark.parametrize("command", READING)
def test_the_last_line_of_json_is_the_source(command, run, source):
    """With the number of its traces and what was lost, even if nothing matches or all is quiet."""
    for more in ((), ("-q",), ("--kind", "none"), ("-n", "1")):
        row = source_in(run(command, source, "--json", *more).out)
        assert (row["source"], row["traces"]) == (str(source), 3)
        assert [loss["kind"] for loss in row["losses"]] == ["bad_line"]
    assert results_in(run(command, source, "--json", "--kind", "none").out) == []


def test_the_limit_of_top_counts_rows(run, source):
    """The most frequent ones."""
    every = results_in(run("top", source, "--json").out)
    done = run("top", source, "--json", "-n", "1")
    assert results_in(done.out) == every[:1]
    assert "showing the first 1 of 2 rows" in done.err


# --- where it goes


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
@pytest.mark.parametrize("command", READING)
def test_output_goes_to_a_file(command, form, run, source, tmp_path):
    """What would be printed; standard error and the exit code stay."""
    wanted = run(command, source, *form)
    target = tmp_path / "results"
    assert run(command, source, *form, "-o", target) == (wanted.code, "", wanted.err)
    assert target.read_text() == wanted.out
    assert sorted(tmp_path.iterdir()) == sorted([source, target])
    assert run(command, source, *form, "-o", "-") == wanted


def test_an_older_file_is_replaced_or_stays(run, source, tmp_path):
    """It is replaced with its permissions if the command succeeds, and untouched if it fails."""
    target, link = tmp_path / "results", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    assert run("list", tmp_path / "missing.jsonl", "-o", link).code == 3
    assert target.read_text() == "old"
    assert run("list", source, "-o", link).code == 0
    assert target.read_text() == run("list", source).out
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(tmp_path.iterdir()) == sorted([source, target, link])


def test_a_source_is_not_replaced_by_results(run, source, tmp_path):
    """Under any of its names; standard input and backends have no file."""
    before = source.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(source)
    for target in (source, link):
        done = run("list", "-", source, "-o", target)
        assert (done.code, done.out) == (2, "")
        assert done.err == f"failgraph: -o {target} is also a source. Give another file.\n"
    assert source.read_bytes() == before


def test_a_file_that_cannot_be_written_exits_with_3(run, source, tmp_path):
    """One line names it."""
    for target in (tmp_path / "missing" / "results", tmp_path):
        done = run("list", source, "-o", target)
        assert (done.code, done.out, len(done.err.splitlines())) == (3, "", 1)
        assert done.err.startswith(f"failgraph: cannot write {target}: ")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has it")
@pytest.mark.parametrize("command", READING)
def test_a_full_disk_names_the_file(command, run, source, tmp_path):
    """However late it is noticed: while a result is written, or when the file is closed."""
    many = write(tmp_path / "many", *(failed(f"{at:032x}", "7-1", start=at) for at in range(1, 99)))
    for each in (source, many):
        done = run(command, each, "-q", "-o", "/dev/full")
        assert (done.code, done.out) == (3, "")
        assert done.err == "failgraph: cannot write /dev/full: no space left on device\n"


def test_a_pipe_gets_the_results(run, source, tmp_path):
    """It is not replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run("list", source, "-o", pipe).code == 0
        assert os.read(reader, 100_000).decode() == run("list", source).out
    finally:
        os.close(reader)


# --- colors


def test_color_always_and_never(run, source, monkeypatch):
    """Always colors a pipe, even with NO_COLOR; the text is the same."""
    pytest.importorskip("rich")
    monkeypatch.setenv("NO_COLOR", "1")
    for command in READING:
        plain, colored = (run(command, source, "--color", when) for when in ("never", "always"))
        assert "\x1b[" not in plain.out
        assert "\x1b[" in colored.out
        assert [without_color(line) for line in colored.out.splitlines()] == plain.out.splitlines()


def without_color(line: str) -> str:
    return "".join(_outside_codes(line)).rstrip()


def _outside_codes(line: str) -> Iterator[str]:
    for number, part in enumerate(line.split("\x1b[")):
        yield part.partition("m")[2] if number else part


def test_color_needs_rich(run, source, monkeypatch):
    """Without it, --color always is wrong use, and the message says what to install."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    done = run("list", source, "--color", "always")
    assert (done.code, done.out) == (2, "")
    assert "pip install 'failgraph[cli]'" in done.err


def test_an_unknown_color_is_wrong_use(run, source):
    """The message has the choices."""
    done = run("list", source, "--color", "blue")
    assert done.code == 2
    assert "auto" in done.err
