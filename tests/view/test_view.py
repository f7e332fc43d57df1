"""Trees, list lines and JSON rows: complete, with the times of the file, and safe for any text."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import event
from failgraph.cli import main
from failgraph.readers import Trace, read
from failgraph.view import failure_tree, line_text, list_lines, tree_text
from otlp_file import PREFIX, SERVER, TRACE, failure_span, process, reported, seen, span, write

MS = 1_000_000


def tree_of(trace: Trace) -> list[str]:
    return list(tree_text(failure_tree(trace)))


def line_of(trace: Trace) -> str:
    (line,) = list_lines([trace], with_head=False)
    return line_text(line)


@pytest.fixture
def one(tmp_path: Path) -> Callable[..., Trace]:
    """Return a function that reads documents with one failing trace."""

    def read_one(*documents: object) -> Trace:
        (trace,) = read(write(tmp_path / "traces.jsonl", *documents)).traces
        return trace

    return read_one


def rollout() -> list[dict[str, Any]]:
    """Return two processes with three hops.

    `root` is the cause of `mid` and `side`, and `mid` of `top`; `side` is recovered.
    """
    return [
        process(
            span(
                1,
                None,
                seen(event("top", kind="agent_run_error", cause_id="mid"), 1500 * MS),
                name="rollout",
                end=2000 * MS,
                attributes={
                    **reported("root", "mid", "side", "top", own="top"),
                    "nemo.gym.rollout.id": "r-17",
                },
            ),
            span(2, 1, name="client call", start=10 * MS, end=900 * MS),
        ),
        process(
            span(
                3,
                2,
                seen(event("mid", kind="judge_failed", cause_id="root"), 700 * MS),
                name="POST /run",
                kind=SERVER,
                start=20 * MS,
                end=800 * MS,
                attributes=reported("root", "mid", "side", own="mid"),
            ),
            span(
                4,
                3,
                seen(event("root", kind="provider_oom_killed", boundary="sandbox"), 200 * MS),
                name="exec",
                start=100 * MS,
                end=300 * MS,
            ),
            failure_span(
                5,
                3,
                seen(event("side", kind="session_lost", cause_id="root"), 400 * MS),
                start=400 * MS,
            ),
            service="agent server",
        ),
    ]


def kinds_in(lines: list[str]) -> list[str]:
    """Return the kind in each line that begins with the number of a failure."""
    return [match[1] for line in lines if (match := re.search(r"[├└]─ #\d+ \w+ (\w+)", line))]


def test_each_failure_is_in_the_tree_once(one: Callable[..., Trace]) -> None:
    """Every failure has one line; a shared cause is referred to by its number."""
    lines = list(tree_of(one(*rollout())))
    assert sorted(kinds_in(lines)) == [
        "agent_run_error",
        "judge_failed",
        "provider_oom_killed",
        "session_lost",
    ]
    number = {
        match[2]: match[1]
        for line in lines
        if (match := re.search(r"[├└]─ (#\d+) \w+ (\w+)", line))
    }
    causes = [line for line in lines if "caused by" in line]
    assert len(causes) == 3
    assert sum(f"caused by {number['provider_oom_killed']} " in line for line in causes) == 2
    assert sum(f"caused by {number['judge_failed']} " in line for line in causes) == 1
    assert len(set(number.values())) == 4


def test_offsets_and_durations_are_those_of_the_file(one: Callable[..., Trace]) -> None:
    """A hop's line begins with offset and duration, a failure's with its offset."""
    lines = list(tree_of(one(*rollout())))

    def line(text: str) -> list[str]:
        return next(
            each
            for each in lines
            if text in each and "caused by" not in each and "root cause" not in each
        ).split()

    assert "2.000 s" in lines[0]
    assert line("rollout [gym]")[:4] == ["0", "µs", "2.000", "s"]
    assert line("POST /run [agent server]")[:4] == ["20.0", "ms", "780.0", "ms"]
    assert line("sandbox provider_oom_killed")[:2] == ["200.0", "ms"]
    assert line("agent session_lost")[:2] == ["400.0", "ms"]
    assert line("agent judge_failed")[:2] == ["700.0", "ms"]
    assert line("agent agent_run_error")[:2] == ["1.500", "s"]
    delays = [
        match[1] for each in lines if (match := re.search(r"caused by .*, (\S+ \S+) before", each))
    ]
    assert sorted(delays) == ["200.0 ms", "500.0 ms", "800.0 ms"]


def test_a_cause_is_named_with_its_span(one: Callable[..., Trace]) -> None:
    """Its line names the span where it was observed, and the service if it differs."""
    causes = [line for line in tree_of(one(*rollout())) if "caused by" in line]
    assert sum(" on exec" in line for line in causes) == 2
    assert sum("POST /run [agent server]" in line for line in causes) == 1


def test_recovered_and_own_failures_are_marked(one: Callable[..., Trace]) -> None:
    """No other failure is."""
    lines = list(tree_of(one(*rollout())))
    assert kinds_in([line for line in lines if "(recovered)" in line]) == ["session_lost"]
    assert sorted(kinds_in([line for line in lines if "(own failure" in line])) == [
        "agent_run_error",
        "judge_failed",
    ]


def test_the_header_and_the_list_line(one: Callable[..., Trace]) -> None:
    """Both name the trace, its rollout and the root cause; each says more of its own."""
    trace = one(*rollout())
    header = " ".join(list(tree_of(trace))[:2])
    for text in (TRACE, "r-17", "gym", "4 failures", "1 recovered", "sandbox provider_oom_killed"):
        assert text in header
    assert re.split("  +", line_of(trace)) == [
        "r-17",
        "failed",
        "sandbox provider_oom_killed",
        "2023-11-14T22:13:20Z",
        TRACE[:8],
    ]


def test_hops_nest_as_their_spans(one: Callable[..., Trace]) -> None:
    """A hop is below the hop that called it, and its failures are below it, by time."""
    lines = list(tree_of(one(*rollout())))
    column = {
        name: next(line for line in lines if name in line).index(name)
        for name in ("rollout [", "POST /run [")
    }
    assert column["rollout ["] < column["POST /run ["]
    order = [
        next(
            at
            for at, line in enumerate(lines)
            if "[" in line and "caused" not in line and text in line
        )
        for text in ("rollout [gym]", "POST /run [")
    ]
    assert order == sorted(order)
    assert kinds_in(lines) == [
        "provider_oom_killed",
        "session_lost",
        "judge_failed",
        "agent_run_error",
    ]


@pytest.mark.parametrize(
    "spans",
    [
        [failure_span(2, 9, seen(event("e1", kind="session_lost")))],
        [span(1), failure_span(2, 9, seen(event("e1", kind="session_lost")))],
        [span(1, 2, seen(event("e1", kind="session_lost"))), span(2, 1)],
        [span(1), span(2, 2, seen(event("e1", kind="session_lost")))],
    ],
    ids=["lone failure span", "failure span of a lost parent", "ring of parents", "own parent"],
)
def test_a_failure_without_a_hop_is_shown(
    spans: list[dict[str, Any]], one: Callable[..., Trace]
) -> None:
    """If spans are lost or damaged, a failure without a hop is in the tree as well."""
    lines = [
        line
        for line in tree_of(one(process(*spans)))
        if not line.startswith(("root cause", "missing "))
    ]
    assert sum("session_lost" in line for line in lines) == 1


def test_unknown_durations_and_losses(one: Callable[..., Trace]) -> None:
    """An unknown duration is a question mark, and each loss has a line."""
    held = span(2, 9, seen(event("e1", cause_id="gone")), name="work", end=None)
    lines = list(tree_of(one(process(held))))
    assert next(line for line in lines if "work [gym]" in line).split()[2] == "?"
    for name in ("missing span: ", "unfinished span: ", "missing cause: "):
        assert sum(line.startswith(name) for line in lines) == 1
    assert any("gone" in line for line in lines)


def test_many_losses_are_counted(one: Callable[..., Trace]) -> None:
    """The tree names some and gives the number of the others."""
    lines = list(
        tree_of(one(process(*(span(at, at + 1000, seen(event(str(at)))) for at in range(1, 60)))))
    )
    named = [line for line in lines if line.startswith("missing span: ")]
    assert 0 < len(named) < 30
    assert lines[-1] == f"{59 - len(named)} more losses; --full lists all"


def test_an_unreported_failure_is_marked_with_the_reason(one: Callable[..., Trace]) -> None:
    """Its own hop did not report it."""
    lines = list(
        tree_of(one(process(span(1, None, seen(event("e1"), late=True), attributes=reported()))))
    )
    assert any("unreported: late" in line and "judge_failed" in line for line in lines)


def test_a_failure_that_a_hop_further_up_did_not_report(one: Callable[..., Trace]) -> None:
    """Its own hop reported it, but the caller had given up."""
    callee = span(2, 1, seen(event("e1")), kind=SERVER, attributes=reported("e1"))
    lines = list(tree_of(one(process(span(1, None, name="caller"), callee))))
    assert any("judge_failed  (unreported by caller: no_reply)" in line for line in lines)


def test_deep_trees_are_shown(one: Callable[..., Trace]) -> None:
    """5,000 nested hops are shown without recursion, in lines of limited length."""
    nested = [span(number, number - 1 or None, kind=SERVER) for number in range(1, 5000)]
    lines = list(tree_of(one(process(*nested, span(5000, 4999, seen(event("e1")))))))
    assert sum("[gym]" in line for line in lines) == 4999
    assert max(map(len, lines)) < 400


# --- hostile text

HOSTILE = {
    "escape code": "\x1b[31mred\x1b[0m",
    "hyperlink": "\x1b]8;;http://evil\x07text\x1b]8;;\x07",
    "C1 control": "\x9b31mred",
    "bidi override": "abc\u202egnp.exe\u2066x\u2069",
    "newline": "a\nfailgraph: b\r\nc\x0b\x0c\x85\u2028\u2029d",
    "backspace and delete": "a\x08\x08\x7f\x00b",
    "zero width": "a\u200b\u200d\ufeff\U000e0041b",
    "tab": "a\tb",
}
RAW = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def raw(text: str) -> set[str]:
    """Return the characters of `text` that control, hide or reorder."""
    return {ascii(char) for char in text.replace("\n", "") if unicodedata.category(char) in RAW}


def everywhere(evil: str) -> list[dict[str, Any]]:
    """Return a trace with `evil` in every text that a view could print."""
    record = event(
        "id" + evil,
        kind="kind" + evil,
        boundary="sandbox",
        failure_reason="reason" + evil,
        exception_type="type" + evil,
        operation="operation" + evil,
        cause_id="cause" + evil,
        foreign_error={"exception_type": "f" + evil, "message": "message" + evil},
        details={"provider": "provider" + evil},
    )
    cause = event("cause" + evil, kind="k" + evil, cause_id="missing" + evil)
    attributes = {
        **reported(record.event_id, "lost" + evil, own=record.event_id),
        "nemo.gym.rollout.id": "rollout" + evil,
        PREFIX + "root.kind": evil,
    }
    unknown = {PREFIX + "sandbox.field" + evil: "value"}
    spoiled = seen(event("x" + evil, boundary="sandbox"))
    spoiled["attributes"] += process(span(1, attributes=unknown))["resourceSpans"][0]["scopeSpans"][
        0
    ]["spans"][0]["attributes"]
    return [
        process(
            span(
                1,
                None,
                seen(record, 5),
                spoiled,
                name="name" + evil,
                end=None,
                attributes=attributes,
            ),
            span(2, 99, seen(cause, 3), name="inner" + evil, kind=SERVER, droppedEventsCount=1),
            service="service" + evil,
        )
    ]


@pytest.mark.parametrize("evil", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("command", ["list", "show"])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_no_hostile_text_reaches_the_output(
    command: str, form: list[str], evil: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No control, bidi or invisible character of a record reaches stdout or stderr raw."""
    path = write(tmp_path / "f", *everywhere(evil), b"broken" + evil.encode())
    assert main([command, str(path), *form]) == 0
    out, err = capsys.readouterr()
    assert out
    assert raw(out) == set()
    assert raw(err) == set()
    assert not any(line.startswith(("failgraph: b", "c")) for line in out.splitlines())
    if form:
        row, _ = [json.loads(line) for line in out.splitlines()]
        assert row["service"] == "service" + evil, "data is exact in JSON"


@pytest.mark.parametrize("evil", HOSTILE.values(), ids=HOSTILE)
def test_no_hostile_text_reaches_an_error(
    evil: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """File names and trace ids can be hostile too."""
    path = write(tmp_path / "f", *everywhere(evil))
    name = evil.replace("\x00", "").replace("/", "")
    empty = tmp_path / ("empty" + name)
    empty.write_bytes(b"")
    assert main(["show", str(path), "id" + name]) == 3
    assert main(["show", str(tmp_path / ("missing" + name))]) == 3
    assert main(["list", str(empty)]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert raw(err) == set()
    assert len(err.splitlines()) == 3


def test_a_hostile_setting_is_sanitized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message has name and value without their control characters."""
    monkeypatch.setenv("FAILGRAPH_CAPTURE", "\x1b[31m\u202eall")
    monkeypatch.setenv("FAILGRAPH_\x1b[0m", "x")
    assert main(["list", str(write(tmp_path / "f", *rollout()))]) == 2
    err = capsys.readouterr().err
    assert raw(err) == set()
    assert len(err.splitlines()) == 2


def test_a_hostile_argument_is_sanitized(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message has no control characters of what was typed or pasted."""
    hostile = "\x1b[31mc\u202e"
    assert main(["show", str(write(tmp_path / "f", *rollout())), hostile]) == 3
    assert main(["show", hostile]) == 3
    with pytest.raises(SystemExit):
        main(["show", "a", f"--{hostile}"])
    assert raw(capsys.readouterr().err) == set()


@pytest.mark.parametrize(
    "markup", ["[red]x[/red]", "[link=http://evil]x[/link]", "**x**", "<b>x</b>", ":bomb:", "\\"]
)
def test_markup_is_only_text(
    markup: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Markup is never interpreted: its characters are shown."""
    path = write(
        tmp_path / "f",
        process(span(1, None, seen(event("e1", failure_reason=markup, kind=markup)))),
    )
    assert main(["show", str(path)]) == 0
    out = capsys.readouterr().out
    assert f"“{markup}”" in out
    assert f"agent {markup}" in out


def test_long_text_is_cut_in_the_tree_and_whole_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tree cuts a text of 2,000 characters; JSON has all of it."""
    path = write(
        tmp_path / "f",
        process(span(1, None, seen(event("e1", failure_reason="€" * 2000)), name="n" * 5000)),
    )
    assert main(["show", str(path)]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) < 400
    assert main(["show", "--json", str(path)]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[0])
    assert row["report"]["events"]["e1"]["failure_reason"] == "€" * 2000
    assert row["hops"][0]["name"] == "n" * 5000
