"""The command: exit codes, what goes to stdout and what to stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from builders import event
from failgraph.cli import main
from otlp_file import T0, TRACE, process, reported, seen, span, write

COMMANDS = ("demo", "list", "show", "top", "import", "doctor", "run")
OTHER_TRACE = "abcdef" + "0" * 26
CLEAN_TRACE = "c" * 32


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run a command in this process."""

    def run_it(*arguments: object) -> Done:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as error:
            assert isinstance(error.code, int)
            code = error.code
        return Done(code, *capsys.readouterr())

    return run_it


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Two traces with a failure and one without; nothing is lost."""
    return write(
        tmp_path / "whole.jsonl",
        process(span(1, None, seen(event("e1"), 5), attributes=reported("e1", own="e1"))),
        process(span(2, None, seen(event("e2"), 5), start=9, trace=OTHER_TRACE)),
        process(span(3, None, trace=CLEAN_TRACE)),
    )


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """Two traces without a failure."""
    return write(tmp_path / "clean.jsonl", process(span(1), span(2, None, trace=OTHER_TRACE)))


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    """A trace whose span has no end, and one that is whole."""
    return write(
        tmp_path / "lossy.jsonl",
        process(span(1, None, seen(event("e1")), end=None)),
        process(span(2, None, seen(event("e2")), trace=OTHER_TRACE)),
    )


def rows(text: str) -> list[dict[str, Any]]:
    """JSON lines."""
    return [json.loads(line) for line in text.splitlines()]


def subprocess_of(
    arguments: Sequence[object], environ: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command as a user does."""
    ours = ("FAILGRAPH_", "OTEL_", "PYTHONUNBUFFERED", "PYTHONIOENCODING")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(
        [sys.executable, "-m", "failgraph", *map(str, arguments)],
        env={**clean, **(environ or {})},
        timeout=60,
        check=False,
        text=True,
        **options,
    )


# --- done


@pytest.mark.parametrize("command", ["list", "show"])
def test_results_go_to_stdout(command: str, run: Callable[..., Done], whole: Path) -> None:
    """Both commands print the traces with failures, by start, and nothing on stderr."""
    done = run(command, whole)
    assert (done.code, done.err) == (0, "")
    assert done.out.index(TRACE) < done.out.index(OTHER_TRACE)
    assert CLEAN_TRACE not in done.out


def test_list_is_one_line_a_trace(run: Callable[..., Done], whole: Path) -> None:
    """list prints one line for each trace with failures."""
    assert [line.split()[0] for line in run("list", whole).out.splitlines()] == [TRACE, OTHER_TRACE]


@pytest.mark.parametrize("command", ["list", "show"])
def test_json_is_one_object_a_line(command: str, run: Callable[..., Done], whole: Path) -> None:
    """--json gives one object a trace on stdout, and nothing else."""
    done = run(command, "--json", whole)
    assert (done.code, done.err) == (0, "")
    assert [row["trace_id"] for row in rows(done.out)] == [TRACE, OTHER_TRACE]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_show_takes_one_trace(form: list[str], run: Callable[..., Done], whole: Path) -> None:
    """With TRACE_ID only that trace is shown; the case of its letters does not matter."""
    for given in (OTHER_TRACE, OTHER_TRACE.upper()):
        done = run("show", whole, given, *form)
        assert done.code == 0
        assert OTHER_TRACE in done.out
        assert TRACE not in done.out


def test_show_without_a_trace_shows_what_list_would(run: Callable[..., Done], whole: Path) -> None:
    """The traces of show are those of list, and each tree is what show gives for it alone."""
    assert (
        run("show", whole).out
        == run("show", whole, TRACE).out + run("show", whole, OTHER_TRACE).out
    )


@pytest.mark.parametrize("command", ["list", "show"])
@pytest.mark.parametrize("form", [[], ["--json"], ["--strict"]])
def test_no_failures_is_no_error(
    command: str, form: list[str], run: Callable[..., Done], clean: Path
) -> None:
    """No failures: exit code 0, an empty stdout, and stderr says in how many traces."""
    done = run(command, clean, *form)
    assert (done.code, done.out) == (0, "")
    assert "no failures in 2 traces" in done.err


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_number_too_long_to_print_is_shown(
    form: list[str], run: Callable[..., Done], tmp_path: Path
) -> None:
    """An exit code of 5,000 digits does not end the command."""
    happened = seen(event("e1", boundary="sandbox", details={"exit_code": 10**5000}))
    done = run("show", write(tmp_path / "f", process(span(1, None, happened))), *form)
    assert (done.code, done.err) == (0, "")
    assert TRACE in done.out


# --- findings


@pytest.mark.parametrize("command", ["list", "show"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_losses_are_a_finding_only_under_strict(
    command: str, form: list[str], run: Callable[..., Done], lossy: Path, whole: Path
) -> None:
    """With losses --strict exits with 1 and prints the same; without losses it exits with 0."""
    lenient, strict = run(command, lossy, *form), run(command, lossy, "--strict", *form)
    assert (lenient.code, strict.code) == (0, 1)
    assert lenient.out == strict.out
    assert run(command, whole, "--strict", *form).code == 0


def test_losses_of_other_traces_are_no_finding(run: Callable[..., Done], lossy: Path) -> None:
    """Only what is shown counts under --strict."""
    assert run("show", lossy, OTHER_TRACE, "--strict").code == 0
    assert run("show", lossy, TRACE, "--strict").code == 1


@pytest.mark.parametrize("command", ["list", "show"])
def test_losses_are_told(command: str, run: Callable[..., Done], lossy: Path) -> None:
    """Both commands say what was lost, as text and as JSON."""
    assert "unfinished span" in run(command, lossy).out or "1 loss" in run(command, lossy).out
    first, second = rows(run(command, lossy, "--json").out)
    assert [loss["kind"] for loss in first["losses"]] == ["unended"]
    assert second["losses"] == []


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_broken_line_is_told_on_stderr(
    form: list[str], run: Callable[..., Done], tmp_path: Path
) -> None:
    """A broken line is named on stderr with its number, stdout stays whole, and --strict makes it a finding."""
    path = write(tmp_path / "f", process(span(1, None, seen(event("e1")))), b"broken")
    done = run("list", path, *form)
    assert done.code == 0
    assert "unreadable data: " in done.err
    assert "line 2" in done.err
    assert len(done.out.splitlines()) == 1
    assert run("list", path, "--strict", *form).code == 1


def test_a_broken_line_is_a_finding_without_failures_too(
    run: Callable[..., Done], tmp_path: Path
) -> None:
    """A failure may have stood on the line that is broken."""
    path = write(tmp_path / "f", process(span(1)), b"broken")
    assert run("list", path, "--strict").code == 1


# --- wrong use


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["explode"],
        ["list"],
        ["show"],
        ["list", "--json"],
        ["list", "f", "g"],
        ["show", "f", "--what"],
    ],
)
def test_wrong_use_is_2(arguments: list[str], run: Callable[..., Done]) -> None:
    """Wrong use exits with 2, and says how on stderr only."""
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "usage: failgraph" in done.err


def test_help_names_the_commands_and_exit_codes(run: Callable[..., Done]) -> None:
    """--help goes to stdout, names each command and each exit code."""
    done = run("--help")
    assert (done.code, done.err) == (0, "")
    for word in ("demo", "list", "show", "exit codes", "0 ", "1 ", "2 ", "3 "):
        assert word in done.out


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_80_columns(
    command: str, run: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Help is readable on a terminal of the usual width."""
    monkeypatch.setenv("COLUMNS", "80")
    done = run(*filter(None, [command]), "--help")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80


def test_wrong_settings_are_all_told(
    run: Callable[..., Done], whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong settings exit with 2; each is told with its value and choices, an unknown name with the one meant."""
    monkeypatch.setenv("FAILGRAPH_LINKS", "sideways")
    monkeypatch.setenv("FAILGRAPH_PLACEMNT", "span")
    done = run("list", whole)
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert len(lines) == 2
    for text in ("FAILGRAPH_LINKS", "sideways", "cross", "all", "off"):
        assert text in lines[0]
    assert "FAILGRAPH_PLACEMNT" in lines[1]
    assert "FAILGRAPH_PLACEMENT?" in lines[1]


# --- no source


@pytest.mark.parametrize("command", ["list", "show"])
@pytest.mark.parametrize(
    "content", [None, b"", b"hello\n", b'{"resourceLogs": []}', b"\x1f\x8b\x08\x00"]
)
def test_a_source_that_cannot_be_read_is_3(
    command: str, content: bytes | None, run: Callable[..., Done], tmp_path: Path
) -> None:
    """A file that is missing or holds no trace exits with 3 and one line that names it, on stderr only."""
    path = tmp_path / "f"
    if content is not None:
        path.write_bytes(content)
    done = run(command, path)
    assert (done.code, done.out) == (3, "")
    assert len(done.err.splitlines()) == 1
    assert str(path) in done.err


@pytest.mark.parametrize("wanted", ["d" * 32, "1234", "not-an-id", ""])
def test_a_trace_that_is_not_there_is_3(wanted: str, run: Callable[..., Done], whole: Path) -> None:
    """A trace that the source does not hold exits with 3, and the message says how to find those that it does."""
    done = run("show", whole, wanted)
    assert (done.code, done.out) == (3, "")
    assert len(done.err.splitlines()) == 1
    assert wanted in done.err
    assert "failgraph list" in done.err


def test_no_error_shows_a_traceback_or_a_secret(tmp_path: Path) -> None:
    """An error is one line: no traceback, and nothing of the file."""
    path = write(tmp_path / "f", b'{"token": "hunter2"', b'["hunter2"]')
    done = subprocess_of(["show", path], capture_output=True)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


# --- pipes and terminals


@pytest.mark.parametrize("size", [1, 400], ids=["little output", "much output"])
@pytest.mark.parametrize("command", ["list", "show"])
@pytest.mark.parametrize("environ", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
def test_a_reader_that_left_is_no_error(
    environ: dict[str, str], command: str, size: int, tmp_path: Path
) -> None:
    """When the reader of the pipe is gone the command ends with 0 and without a word, whatever it had to say."""
    documents = [
        process(span(1, None, seen(event("e1")), trace=f"{at:032x}")) for at in range(1, size + 1)
    ]
    path = write(tmp_path / "f", *documents)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess_of(
            [command, "--json", path], environ, stdout=writer, stderr=subprocess.PIPE
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_that_is_ascii_gets_escapes(tmp_path: Path) -> None:
    """Where stdout cannot show a character it is escaped: no exception, no lost line."""
    path = write(
        tmp_path / "f", process(span(1, None, seen(event("e1", failure_reason="€😀")), name="é"))
    )
    done = subprocess_of(
        ["show", path], {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u20ac" in done.stdout
    assert "judge_failed" in done.stdout


def test_both_entry_points_give_the_same(whole: Path, run: Callable[..., Done]) -> None:
    """`python -m failgraph` is the command."""
    done = subprocess_of(["list", whole], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == run("list", whole)


@pytest.fixture
def rollouts(tmp_path: Path) -> Path:
    """Three failing traces, a minute apart, the last a second ago; each a rollout, a kind and a service of its own."""
    now = time.time_ns()
    documents = []
    for number, ago in enumerate((121, 61, 1)):
        start = now - ago * 1_000_000_000 - T0
        happened = seen(
            event(
                f"e{number}", kind=f"kind-{number}", boundary=("model", "agent", "agent")[number]
            ),
            start,
        )
        here = {"nemo.gym.rollout.id": f"r{number}"}
        one = span(
            1,
            None,
            happened,
            start=start,
            end=start + 1000,
            trace=f"{number + 1}" * 32,
            attributes=here,
        )
        documents.append(process(one, service=f"service-{number}"))
    clean = span(1, None, trace=CLEAN_TRACE, attributes={"nemo.gym.rollout.id": "clean"})
    return write(tmp_path / "rollouts.jsonl", *documents, process(clean))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "123"),
        (["--since", "90s"], "23"),
        (["--since", "1m"], "3"),
        (["--since", "2020-01-01"], "123"),
        (["--since", "0999-12-31T00:00Z"], "123"),
        (["--since", "999999w"], "123"),
        (["--since", "2020-01-01T00:00:00Z", "--kind", "kind-0"], "1"),
        (["--kind", "kind-0", "--kind", "kind-2"], "13"),
        (["--boundary", "agent"], "23"),
        (["--boundary", "agent", "--kind", "kind-0"], ""),
        (["--service", "service-1"], "2"),
        (["--rollout", "r2"], "3"),
        (["--limit", "2"], "23"),
        (["--limit", "1", "--boundary", "model"], "1"),
    ],
)
def test_the_filters_choose_traces(
    run: Callable[..., Done], rollouts: Path, options: list[str], expected: str
) -> None:
    """Each option leaves the traces that it names, all together those that fit all; `list` and `show` agree."""
    listed, shown = (run(command, rollouts, "--json", *options) for command in ("list", "show"))
    assert [json.loads(line)["trace_id"][0] for line in listed.out.splitlines()] == list(expected)
    assert [json.loads(line)["trace_id"][0] for line in shown.out.splitlines()] == list(expected)
    assert (listed.code, shown.code) == (0, 0)


def test_what_the_limit_left_out_is_said(run: Callable[..., Done], rollouts: Path) -> None:
    """With a limit that leaves traces out stderr says how many there are; one that does not says nothing."""
    assert run("list", rollouts, "--limit", 2).err == (
        "failgraph: showing the newest 2 of 3 traces. Use a larger --limit to see more.\n"
    )
    assert run("list", rollouts, "--limit", 3).err == ""


def test_filters_that_leave_nothing_say_what_there_is(
    run: Callable[..., Done], rollouts: Path
) -> None:
    """Nothing of that kind is no error; a rollout without failures is not one that the source does not know."""
    assert run("list", rollouts, "--kind", "other").err == (
        "failgraph: no failure matches --kind other; 3 of 4 traces have failures\n"
    )
    assert run("list", rollouts, "--rollout", "clean").code == 0
    unknown = run("list", rollouts, "--rollout", "r9\x1b[31m")
    assert (unknown.code, unknown.out) == (3, "")
    assert unknown.err.endswith(" has no span of rollout r9\\x1b[31m\n")


def test_filters_without_a_match_are_repeated_as_options(
    run: Callable[..., Done], rollouts: Path
) -> None:
    """The message names every filter, so that the user sees which one is too narrow."""
    options = ["--since", "2026-11-30T08:00:00Z", "--kind", "b c", "--kind", "a"]
    done = run("show", rollouts, *options, "--boundary", "agent", "--limit", "1")
    assert (done.code, done.out) == (0, "")
    assert done.err == (
        "failgraph: no failure matches --since 2026-11-30T08:00:00Z --kind a --kind 'b c'"
        " --boundary agent; 3 of 4 traces have failures\n"
    )


def test_a_trace_without_failures_is_named_with_its_rollout(
    run: Callable[..., Done], rollouts: Path, clean: Path
) -> None:
    """The trace exists, so this is not an error."""
    assert run("show", rollouts, CLEAN_TRACE) == (
        0,
        "",
        f"failgraph: trace {CLEAN_TRACE} (rollout clean): no failures\n",
    )
    assert run("show", clean, TRACE).err == f"failgraph: trace {TRACE}: no failures\n"


def test_an_unknown_trace_id_says_where_to_find_one(run: Callable[..., Done], whole: Path) -> None:
    """The message names the command that lists the failed traces, and how many there are."""
    hint = f'Run "failgraph list {whole}" to see 2 failed traces.'
    assert run("show", whole, "deadbeef").err == (
        f"failgraph: no trace id in {whole} starts with deadbeef. {hint}\n"
    )
    assert run("show", whole, OTHER_TRACE[:5]).err == (
        f"failgraph: abcde is too short for a trace id: give 6 digits or more. {hint}\n"
    )


def test_a_time_is_taken_to_the_microsecond(run: Callable[..., Done], tmp_path: Path) -> None:
    """A trace began at the time that it began at, and no microsecond later; also after half of a millisecond."""
    began = span(1, None, seen(event("e"), 600_000), start=600_000, end=700_000)
    file = write(tmp_path / "file", process(began))
    assert run("list", file, "--since", "2023-11-14T22:13:20.000600Z").out != ""
    assert run("list", file, "--since", "2023-11-14T22:13:20.000601Z").out == ""


@pytest.mark.parametrize(
    "option",
    [["--since", "yesterday"], ["--limit", "0"], ["--limit", "-1"], ["--boundary", "moon"]],
)
def test_a_filter_that_cannot_be_used_is_wrong_use(
    run: Callable[..., Done], rollouts: Path, option: list[str]
) -> None:
    """A time, a number or a boundary that is none is shown, with what would be one."""
    done = run("list", rollouts, *option)
    assert (done.code, done.out) == (2, "")
    assert option[1] in done.err


def test_the_first_digits_of_a_trace_are_enough(run: Callable[..., Done], whole: Path) -> None:
    """Six digits or more that only one trace begins with name it; fewer, or of several, do not."""
    assert run("show", whole, OTHER_TRACE[:6]).out == run("show", whole, OTHER_TRACE).out
    assert run("show", whole, OTHER_TRACE[:5]).code == 3
    assert run("show", whole, OTHER_TRACE[:6] + "f").code == 3


def test_digits_of_several_traces_ask_for_more(run: Callable[..., Done], tmp_path: Path) -> None:
    """Digits that two traces begin with are an error that says so."""
    both = write(
        tmp_path / "both",
        process(*(span(1, None, seen(event(end)), trace="ab" * 15 + f"0{end}") for end in "12")),
    )
    done = run("show", both, "abababab")
    assert done.code == 3
    assert "2 trace ids in" in done.err
