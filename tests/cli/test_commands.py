"""The command line: exit codes, standard output and standard error."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from builders import event
from json_output import results_in, source_in
from otlp_file import T0, TRACE, process, reported, seen, span, write
from run_command import Done

COMMANDS = ("demo", "list", "show", "top", "export", "doctor", "run")
OTHER_TRACE = "abcdef" + "0" * 26
CLEAN_TRACE = "c" * 32


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A file of two traces with a failure and one without. Nothing is lost."""
    return write(
        tmp_path / "whole.jsonl",
        process(span(1, None, seen(event("e1"), 5), attributes=reported("e1", own="e1"))),
        process(span(2, None, seen(event("e2"), 5), start=9, trace=OTHER_TRACE)),
        process(span(3, None, trace=CLEAN_TRACE)),
    )


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """A file of two traces without failures."""
    return write(tmp_path / "clean.jsonl", process(span(1), span(2, None, trace=OTHER_TRACE)))


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    """A file of one trace whose span has no end, and one that is complete."""
    return write(
        tmp_path / "lossy.jsonl",
        process(span(1, None, seen(event("e1")), end=None)),
        process(span(2, None, seen(event("e2")), trace=OTHER_TRACE)),
    )


def subprocess_of(
    arguments: Sequence[object], environ: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
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


# --- success


@pytest.mark.parametrize("command", ["list", "show"])
def test_results_go_to_stdout(command: str, run: Callable[..., Done], whole: Path) -> None:
    """Both commands print the traces with failures, by start, and nothing to standard error."""
    done = run(command, whole)
    assert (done.code, done.err) == (0, "")
    assert done.out.index(TRACE[:8]) < done.out.index(OTHER_TRACE[:8])
    assert CLEAN_TRACE[:8] not in done.out


def test_list_prints_one_line_per_trace(run: Callable[..., Done], whole: Path) -> None:
    """`list` prints a head, and one line for each trace with failures, its short id last."""
    head, *lines = run("list", whole).out.splitlines()
    assert head.split() == ["rollout", "outcome", "root", "cause", "time", "trace"]
    assert [line.split()[-1] for line in lines] == [TRACE[:8], OTHER_TRACE[:8]]


@pytest.mark.parametrize("command", ["list", "show"])
def test_json_prints_one_object_per_line(
    command: str, run: Callable[..., Done], whole: Path
) -> None:
    """--json prints one object per trace, and a last one about the source."""
    done = run(command, "--json", whole)
    assert (done.code, done.err) == (0, "")
    assert [row["trace_id"] for row in results_in(done.out)] == [TRACE, OTHER_TRACE]
    assert source_in(done.out) == {"source": str(whole), "traces": 3, "losses": []}


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_show_takes_one_trace(form: list[str], run: Callable[..., Done], whole: Path) -> None:
    """With TRACE_ID, in either case, only that trace is shown."""
    for given in (OTHER_TRACE, OTHER_TRACE.upper()):
        done = run("show", whole, given, *form)
        assert done.code == 0
        assert OTHER_TRACE in done.out
        assert TRACE not in done.out


def test_show_without_a_trace_shows_what_list_would(run: Callable[..., Done], whole: Path) -> None:
    """`show` shows the traces of `list`, each as with its TRACE_ID."""
    assert (
        run("show", whole).out
        == run("show", whole, TRACE).out + run("show", whole, OTHER_TRACE).out
    )


@pytest.mark.parametrize("command", ["list", "show"])
@pytest.mark.parametrize("form", [[], ["--json"], ["--strict"]])
def test_no_failures_is_not_an_error(
    command: str, form: list[str], run: Callable[..., Done], clean: Path
) -> None:
    """Without failures, the exit code is 0, and a message says how many traces there are."""
    done = run(command, clean, *form)
    assert done.code == 0
    assert results_in(done.out) == [] if "--json" in form else done.out == ""
    assert "no failures in 2 traces" in done.err


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_very_long_integer_is_printed(
    form: list[str], run: Callable[..., Done], tmp_path: Path
) -> None:
    """An integer of 5,000 digits is printed."""
    happened = seen(event("e1", boundary="sandbox", details={"exit_code": 10**5000}))
    done = run("show", write(tmp_path / "f", process(span(1, None, happened))), *form)
    assert (done.code, done.err) == (0, "")
    assert TRACE in done.out


# --- findings


@pytest.mark.parametrize("command", ["list", "show"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_losses_change_the_exit_code_only_with_strict(
    command: str, form: list[str], run: Callable[..., Done], lossy: Path, whole: Path
) -> None:
    """With losses, --strict changes the exit code to 1 and nothing else."""
    lenient, strict = run(command, lossy, *form), run(command, lossy, "--strict", *form)
    assert (lenient.code, strict.code) == (0, 1)
    assert lenient.out == strict.out
    assert run(command, whole, "--strict", *form).code == 0


def test_losses_of_other_traces_do_not_count_for_strict(
    run: Callable[..., Done], lossy: Path
) -> None:
    """--strict counts only the losses of the traces that are shown."""
    assert run("show", lossy, OTHER_TRACE, "--strict").code == 0
    assert run("show", lossy, TRACE, "--strict").code == 1


@pytest.mark.parametrize("command", ["list", "show"])
def test_losses_are_printed(command: str, run: Callable[..., Done], lossy: Path) -> None:
    """Both commands print losses, as text and as JSON."""
    assert "unfinished span" in run(command, lossy, "--full").out
    first, second = results_in(run(command, lossy, "--json").out)
    assert [loss["kind"] for loss in first["losses"]] == ["unended"]
    assert second["losses"] == []


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_broken_line_is_reported(
    form: list[str], run: Callable[..., Done], tmp_path: Path
) -> None:
    """A broken line is reported with its number, and counts for --strict."""
    path = write(tmp_path / "f", process(span(1, None, seen(event("e1")))), b"broken")
    done = run("list", path, *form)
    assert done.code == 0
    assert "unreadable data: " in done.err
    assert "line 2" in done.err
    assert len(done.out.splitlines()) == 2
    assert run("list", path, "--strict", *form).code == 1
    assert [loss["kind"] for loss in source_in(run("list", path, "--json").out)["losses"]] == [
        "bad_line"
    ]


def test_a_broken_line_counts_for_strict_without_failures(
    run: Callable[..., Done], tmp_path: Path
) -> None:
    """--strict counts a broken line even if there are no failures: it may have had one."""
    path = write(tmp_path / "f", process(span(1)), b"broken")
    assert run("list", path, "--strict").code == 1


# --- wrong arguments and settings


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["explode"],
        ["list"],
        ["show"],
        ["list", "--json"],
        ["show", "f", "--what"],
    ],
)
def test_wrong_arguments_exit_with_2(arguments: list[str], run: Callable[..., Done]) -> None:
    """Wrong arguments exit with 2, and the message says where the help is."""
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "--help" in done.err


@pytest.mark.parametrize(
    "value",
    [
        "the following arguments are required: x",
        "x: must be y",
        "x: cannot be y",
        "x: expected one argument",
        "x: not allowed with argument y",
        "x.",
    ],
)
def test_a_wrong_value_is_repeated_as_it_was_given(value: str, run: Callable[..., Done]) -> None:
    """Also if it has words of the parser, whose own messages are put in plain words."""
    assert f", not {value!r}. Run " in run("list", "source", "--since", value).err
    assert run(value, "source").err.startswith(f"failgraph: unknown command {value}; choose from ")


def test_help_names_the_commands_and_exit_codes(run: Callable[..., Done]) -> None:
    """--help prints every command and exit code to standard output."""
    done = run("--help")
    assert (done.code, done.err) == (0, "")
    for word in ("demo", "list", "show", "exit codes", "0 ", "1 ", "2 ", "3 "):
        assert word in done.out


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_80_columns(
    command: str, run: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line of any help text is longer than 80 characters."""
    monkeypatch.setenv("COLUMNS", "80")
    done = run(*filter(None, [command]), "--help")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80


def test_all_wrong_settings_are_reported(
    run: Callable[..., Done], whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All wrong settings are reported at once: values with the choices, names with a suggestion."""
    monkeypatch.setenv("FAILGRAPH_CAPTURE", "sideways")
    monkeypatch.setenv("FAILGRAPH_PEER_TOKN", "span")
    done = run("list", whole)
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert len(lines) == 2
    for text in ("FAILGRAPH_CAPTURE", "sideways", "failures", "all"):
        assert text in lines[0]
    assert "FAILGRAPH_PEER_TOKN" in lines[1]
    assert "FAILGRAPH_PEER_TOKEN?" in lines[1]


# --- unreadable sources


@pytest.mark.parametrize("command", ["list", "show"])
@pytest.mark.parametrize(
    "content", [None, b"", b"hello\n", b'{"resourceLogs": []}', b"\x1f\x8b\x08\x00"]
)
def test_an_unreadable_source_exits_with_3(
    command: str, content: bytes | None, run: Callable[..., Done], tmp_path: Path
) -> None:
    """A file that is missing or has no trace exits with 3 and one message that names it."""
    path = tmp_path / "f"
    if content is not None:
        path.write_bytes(content)
    done = run(command, path)
    assert (done.code, done.out) == (3, "")
    assert len(done.err.splitlines()) == 1
    assert str(path) in done.err


@pytest.mark.parametrize("wanted", ["d" * 32, "1234", "not-an-id", ""])
def test_an_unknown_trace_exits_with_3(wanted: str, run: Callable[..., Done], whole: Path) -> None:
    """An unknown or invalid trace id exits with 3, and the message says how to find others."""
    done = run("show", whole, wanted)
    assert (done.code, done.out) == (3, "")
    assert len(done.err.splitlines()) == 1
    assert wanted in done.err
    assert "failgraph list" in done.err


def test_no_error_shows_a_traceback_or_a_secret(tmp_path: Path) -> None:
    """An error is one line, without a traceback and without content of the file."""
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
def test_a_closed_pipe_is_not_an_error(
    environ: dict[str, str], command: str, size: int, tmp_path: Path
) -> None:
    """If the reader of the pipe has ended, the command ends with 0 and prints no error."""
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


def test_an_ascii_terminal_gets_escapes(tmp_path: Path) -> None:
    """Characters that standard output cannot encode are escaped."""
    path = write(
        tmp_path / "f", process(span(1, None, seen(event("e1", failure_reason="€😀")), name="é"))
    )
    done = subprocess_of(
        ["show", path], {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u20ac" in done.stdout
    assert "judge_failed" in done.stdout


def test_both_entry_points_print_the_same(whole: Path, run: Callable[..., Done]) -> None:
    """`python -m failgraph` does the same as `failgraph`."""
    done = subprocess_of(["list", whole], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == run("list", whole)


@pytest.fixture
def rollouts(tmp_path: Path) -> Path:
    """A file of three failing traces, 121, 61 and 1 s old, and one trace without failures.

    Each has its own rollout, kind and service.
    """
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
        (["--until", "90s"], "1"),
        (["--since", "90s", "--until", "30s"], "2"),
        (["--until", "2020-01-01"], ""),
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
def test_filters_select_traces(
    run: Callable[..., Done], rollouts: Path, options: list[str], expected: str
) -> None:
    """Each filter keeps the traces that match it; several keep those that match all of them."""
    listed, shown = (run(command, rollouts, "--json", *options) for command in ("list", "show"))
    assert [row["trace_id"][0] for row in results_in(listed.out)] == list(expected)
    assert [row["trace_id"][0] for row in results_in(shown.out)] == list(expected)
    assert (listed.code, shown.code) == (0, 0)


def test_traces_over_the_limit_are_counted(run: Callable[..., Done], rollouts: Path) -> None:
    """A limit that leaves traces out is reported with their number; another one is not."""
    assert run("list", rollouts, "--limit", 2).err == (
        "failgraph: showing the newest 2 of 3 traces. Use a larger --limit to see more.\n"
    )
    assert run("list", rollouts, "--limit", 3).err == ""


def test_filters_without_a_match_are_not_an_error(run: Callable[..., Done], rollouts: Path) -> None:
    """Filters without a match and a rollout without failures are no error; an unknown one is."""
    assert run("list", rollouts, "--kind", "other").err == (
        "failgraph: no failure matches --kind other; 3 of 4 traces have failures."
        f' Run "failgraph top {rollouts}" to see them.\n'
    )
    assert run("list", rollouts, "--rollout", "clean").code == 0
    unknown = run("list", rollouts, "--rollout", "r9\x1b[31m")
    assert (unknown.code, unknown.out) == (3, "")
    assert unknown.err == (
        f'failgraph: no rollout r9\\x1b[31m in {rollouts}. Run "failgraph list {rollouts}" to see'
        " rollouts with failures.\n"
    )


def test_filters_without_a_match_are_repeated_as_options(
    run: Callable[..., Done], rollouts: Path
) -> None:
    """The message names every filter, so that the user sees which one is too narrow."""
    options = ["--since", "2026-11-30T08:00:00Z", "--kind", "b c", "--kind", "a"]
    done = run("show", rollouts, *options, "--boundary", "agent", "--limit", "1")
    assert (done.code, done.out) == (0, "")
    assert done.err == (
        "failgraph: no failure matches --since 2026-11-30T08:00:00Z --kind a --kind 'b c'"
        " --boundary agent; 3 of 4 traces have failures."
        f' Run "failgraph top {rollouts}" to see them.\n'
    )


@pytest.mark.parametrize(
    ("option", "nearest"),
    [
        (["--until", "2020-01-01"], "oldest of 2 traces with failures started at {first}"),
        (["--since", "2030-01-01"], "newest of 2 traces with failures started at {last}"),
    ],
)
def test_the_trace_nearest_to_a_time_without_traces_is_named(
    run: Callable[..., Done], tmp_path: Path, option: list[str], nearest: str
) -> None:
    """The oldest after `--until`, and the newest before `--since`: the user sees how far off."""
    spans = [
        span(
            n, None, seen(event(f"e{n}"), n), start=n * 10**9, end=n * 10**9 + 1, trace=f"{n}" * 32
        )
        for n in (1, 2)
    ]
    file = write(tmp_path / "file", *(process(each) for each in spans))
    told = nearest.format(first="2023-11-14T22:13:21Z", last="2023-11-14T22:13:22Z")
    assert told in run("list", file, *option).err


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
    hint = f'Run "failgraph list {whole}" to see 2 traces with failures.'
    assert run("show", whole, "deadbeef").err == (
        f"failgraph: no trace id in {whole} starts with deadbeef. {hint}\n"
    )
    assert run("show", whole, OTHER_TRACE[:3]).err == (
        f"failgraph: no rollout abc in {whole}; for a trace id, give 4 digits or more. {hint}\n"
    )
    assert run("show", whole, "1184-3").err == (
        f"failgraph: no rollout 1184-3 in {whole}, and it is not a trace id. {hint}\n"
    )


def test_since_is_exact_to_the_microsecond(run: Callable[..., Done], tmp_path: Path) -> None:
    """--since is exact to the microsecond; rounding to milliseconds would lose traces."""
    began = span(1, None, seen(event("e"), 600_000), start=600_000, end=700_000)
    file = write(tmp_path / "file", process(began))
    assert run("list", file, "--since", "2023-11-14T22:13:20.000600Z").out != ""
    assert run("list", file, "--since", "2023-11-14T22:13:20.000601Z").out == ""


@pytest.mark.parametrize(
    "option",
    [["--since", "yesterday"], ["--limit", "0"], ["--limit", "-1"], ["--boundary", "moon"]],
)
def test_an_invalid_filter_exits_with_2(
    run: Callable[..., Done], rollouts: Path, option: list[str]
) -> None:
    """An invalid time, number or boundary exits with 2 and is printed."""
    done = run("list", rollouts, *option)
    assert (done.code, done.out) == (2, "")
    assert option[1] in done.err


def test_the_first_digits_of_a_trace_id_are_enough(run: Callable[..., Done], whole: Path) -> None:
    """Four digits or more select a trace if no other trace id starts with them; fewer do not."""
    assert run("show", whole, OTHER_TRACE[:4]).out == run("show", whole, OTHER_TRACE).out
    assert run("show", whole, OTHER_TRACE[:3]).code == 3
    assert run("show", whole, OTHER_TRACE[:6] + "f").code == 3


def test_ambiguous_digits_of_a_trace_id_are_an_error(
    run: Callable[..., Done], tmp_path: Path
) -> None:
    """Digits that two trace ids start with are an error."""
    both = write(
        tmp_path / "both",
        process(*(span(1, None, seen(event(end)), trace="ab" * 15 + f"0{end}") for end in "12")),
    )
    done = run("show", both, "abababab")
    assert done.code == 3
    assert "2 trace ids in" in done.err


@pytest.mark.parametrize("command", ["list", "show", "top"])
def test_the_output_never_replaces_a_source(
    command: str, run: Callable[..., Done], whole: Path
) -> None:
    """Not if it is given as a source, nor if its directory is; another file there is written."""
    before = whole.read_bytes()
    for source in (whole, whole.parent):
        done = run(command, source, "-o", whole)
        assert (done.code, done.out) == (2, "")
        assert done.err == f"failgraph: -o {whole} is also a source. Give another file.\n"
    assert whole.read_bytes() == before
    assert run(command, whole.parent, "-o", whole.with_name("result.txt")).code == 0
    assert run(command, whole.parent, "-o", whole.with_name("result.txt")).code == 0


def test_an_empty_file_beside_others_is_no_loss(
    run: Callable[..., Done], whole: Path, tmp_path: Path
) -> None:
    """Gym leaves an empty file of failures beside the rows of a run without failures."""
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    done = run("list", whole, empty, "--strict")
    assert (done.code, done.err) == (0, f"failgraph: not used: {empty} (empty)\n")
