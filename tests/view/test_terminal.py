"""Output on a terminal, drawn by rich: the same content, in colours, wrapped to the width."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from builders import event
from otlp_file import pairs, process, seen, span, write

pytest.importorskip("rich", reason="colours need failgraph[cli]")
fcntl = pytest.importorskip("fcntl", reason="needs a POSIX terminal")
termios = pytest.importorskip("termios", reason="needs a POSIX terminal")

HOSTILE = "red \x1b[31m[bold]markup[/bold] \u202eback \x9b7m 日本語 ]8;;http://x\x07"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def traces(tmp_path: Path) -> str:
    """Return a file with two hops, a cause and an effect, with hostile text."""
    cause = event("e1", kind="transport_timeout", boundary="model", failure_reason=HOSTILE)
    effect = event("e2", kind=f"kind {HOSTILE}", failure_reason="long words " * 15, cause_id="e1")
    root = span(1, None, seen(effect, 9), name=f"name {HOSTILE}")
    path = tmp_path / "traces.jsonl"
    write(path, process(root, span(2, 1, seen(cause, 5), kind=2, name="POST /v1/responses")))
    return str(path)


def on_terminal(width: int, *words: str, **environ: str) -> str:
    """Return what a command prints on a terminal of `width` columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    plain = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    }
    command = subprocess.Popen(
        [sys.executable, "-m", "failgraph", *words],
        stdout=follower, stderr=follower, env={**plain, "TERM": "xterm-256color", **environ},
    )  # fmt: skip
    os.close(follower)
    printed = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        printed += part
    os.close(leader)
    assert command.wait(60) == 0
    return printed.decode().replace("\r\n", "\n")


def in_a_pipe(*words: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "failgraph", *words], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("command", ["show", "list"])
def test_a_wide_terminal_has_the_content_of_a_pipe(traces, command):
    """Without colours, a terminal shows what a pipe gets."""
    shown = COLOUR.sub("", on_terminal(400, command, traces))
    assert [line.rstrip() for line in shown.splitlines()] == in_a_pipe(command, traces).splitlines()


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_are_wrapped_inside_the_tree(traces, width):
    """No line is wider than the terminal, nothing is left out, and the branches continue."""
    from rich.cells import cell_len

    shown = COLOUR.sub("", on_terminal(width, "show", traces)).splitlines()
    assert max(map(cell_len, shown)) <= width
    words = re.sub(r"[│├└─ ]+", " ", " ".join(shown))
    expected = re.sub(r"[│├└─ ]+", " ", " ".join(in_a_pipe("show", traces).splitlines()))
    assert words.replace(" ", "") == expected.replace(" ", "")


def test_a_tree_deeper_than_the_terminal_is_wide(tmp_path):
    """The branches are cut rather than the text: no line is wider than the terminal."""
    from rich.cells import cell_len

    path = tmp_path / "deep.jsonl"
    nest = [
        span(number, number - 1 or None, kind=2, name="a name of some length")
        for number in range(1, 40)
    ]
    nest[-1]["events"] = [seen(event("e1", failure_reason="words " * 30))]
    write(path, process(*nest))
    shown = COLOUR.sub("", on_terminal(80, "show", str(path))).splitlines()
    assert max(map(cell_len, shown)) <= 80
    assert sum("a name of some" in line for line in shown) == 39


def test_colours_by_boundary_and_no_color(traces):
    """Each boundary has its colour; with NO_COLOR, none has."""
    assert "\x1b[35mmodel" in on_terminal(100, "show", traces)
    assert "\x1b[36magent" in on_terminal(100, "show", traces)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", on_terminal(100, "show", traces, NO_COLOR="1"))


@pytest.mark.parametrize("command", ["show", "list"])
def test_no_hostile_text_reaches_the_terminal(traces, command):
    """The only control characters are rich's colours, and no markup is interpreted."""
    shown = COLOUR.sub("", on_terminal(120, command, traces))
    assert not [
        char for char in shown if (ord(char) < 0x20 and char != "\n") or 0x7F <= ord(char) < 0xA0
    ]
    assert "\u202e" not in shown
    if command == "show":
        assert "[bold]markup[/bold]" in shown.replace("\n", "")


def test_without_rich_a_terminal_gets_plain_text(traces, tmp_path):
    """The base install works on a terminal as well."""
    (tmp_path / "rich.py").write_text("raise ImportError('no rich here')")
    assert "\x1b[" not in on_terminal(400, "show", traces, PYTHONPATH=str(tmp_path))


def test_json_is_the_same_on_a_terminal(traces):
    """`--json` does not depend on the terminal."""
    assert on_terminal(80, "show", traces, "--json") == in_a_pipe("show", traces, "--json")


@pytest.mark.slow
def test_a_large_file_shows_a_progress_bar(tmp_path):
    """From 16 MiB on there is a bar while the file is read, which is erased at the end."""
    path = tmp_path / "long.jsonl"
    padding = {**span(3), "attributes": pairs({"note": "x" * 1_000_000})}
    write(path, *[process(padding) for _ in range(18)], process(span(1, None, seen(event("e1")))))
    shown = on_terminal(100, "list", str(path))
    assert "reading" in shown
    assert "\x1b[2K" in shown
    assert shown.index("reading") < shown.index("root cause")
