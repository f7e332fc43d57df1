"""The README is true: its tables are those of the code, its code runs, its commands work."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from doc_tables import README, with_tables
from gym_rows import FAILING, lines, scored

pytest.importorskip(
    "opentelemetry.exporter.otlp.json.file", reason="the README's first block writes OTLP JSON"
)

pytestmark = pytest.mark.once


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), re.DOTALL)


def split(python: list[str]) -> tuple[str, str]:
    """The block that is a test, and the others as one program."""
    (test,) = [block for block in python if block.startswith("def test_")]
    return test, "\n".join(block for block in python if block != test)


def test_the_tables_are_those_of_the_code():
    """`python tests/support/doc_tables.py` has nothing to change."""
    text = README.read_text()
    assert with_tables(text) == text


def test_the_code_blocks_and_commands_run(tmp_path):
    """The Python blocks run one after the other in a fresh process; the commands then read what they wrote."""
    tests, code = split(blocks("python"))
    (tmp_path / "test_yours.py").write_text(
        f"import failgraph\nfrom failgraph import NgFailureEvent\n\n\n{tests}"
    )
    yours = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "1 passed" in yours.stdout, yours.stdout
    ran = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code],
        cwd=tmp_path,
        env={**os.environ, "FAILGRAPH_JOURNAL": "journal"},
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("span\n")
    assert "model transport_timeout exception_type='TimeoutError'" in ran.stdout
    commands = [
        line
        for block in blocks("sh")
        for line in block.splitlines()
        if line.startswith("failgraph ")
    ]
    running, *reading = commands
    assert running == "failgraph run -- python server.py"
    (tmp_path / "server.py").write_text(
        "import os; print('enabled', os.environ['FAILGRAPH_ENABLED'])\n"
    )
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", "")))
    shown = subprocess.run(
        [sys.executable, "-m", *running.split()],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "enabled true\n", "")
    saved = [command for command in reading if "rollouts" in command]
    (adding,) = (command for command in reading if command.startswith("failgraph import journal"))
    reading = [command for command in reading if command not in (*saved, adding)]
    assert len(reading) == 7
    for command in reading:
        words = [sys.executable, "-m", *command.split()]
        shown = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert (shown.returncode, shown.stderr) == (0, ""), command
        assert "transport_timeout" in shown.stdout
    words = [sys.executable, "-m", *adding.split()]
    shown = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert " 0 imported, " in shown.stdout  # nothing was lost
    (tmp_path / "rollouts.jsonl").write_bytes(lines(scored(1)))
    (tmp_path / "rollouts_failures.jsonl").write_bytes(lines(*(case.row for case in FAILING[:3])))
    results = [
        "agent_run_error",
        "4 rows: 3 imported, 0 already there, 1 not a failure, 0 malformed\n",
    ]
    *offline, online = saved
    assert online.endswith("--to http://localhost:4317")
    for command, says in zip(offline, results, strict=True):
        words = [sys.executable, "-m", *command.split()]
        shown = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert (shown.returncode, shown.stderr) == (0, ""), command
        assert says in shown.stdout
