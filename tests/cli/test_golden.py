"""Ten saved files and what the reading commands print of them, kept to the character.

A change of words is made on purpose: `python tests/cli/test_golden.py` writes the outputs anew, and the difference is
read before it is committed. The JSON changes only with the contract.
"""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

import pytest

from failgraph.cli import main

FOLDER = Path(__file__).parent / "golden"
SOURCES = sorted((FOLDER / "sources").iterdir())
COMMANDS = [(command, *more) for command in ("list", "show", "top") for more in ((), ("--json",))]


def output_file(source: Path, words: tuple[str, ...]) -> Path:
    return FOLDER / "outputs" / f"{source.name}.{'.'.join(word.lstrip('-') for word in words)}.txt"


def output(source: Path, words: tuple[str, ...]) -> str:
    """Return what the command writes to both streams, and its exit code."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).chdir(source.parent)
        stack.enter_context(contextlib.redirect_stdout(stream))
        stack.enter_context(contextlib.redirect_stderr(stream))
        code = main([words[0], source.name, *words[1:]])
    stream.flush()
    return f"{stream.buffer.getvalue().decode()}exit {code}\n"


def test_there_are_ten_sources_and_no_output_of_another():
    """Each source has its outputs, and each output its source."""
    expected = {output_file(source, words) for source in SOURCES for words in COMMANDS}
    assert len(SOURCES) == 10
    assert set((FOLDER / "outputs").iterdir()) == expected


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_command_prints_what_it_did(source, words):
    """The same file gives the same text, and the same JSON."""
    if source.suffixes[0] == ".pb":
        pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")
    assert output(source, words) == output_file(source, words).read_text(encoding="utf-8")


if __name__ == "__main__":
    for name in [name for name in os.environ if name.startswith(("FAILGRAPH_", "OTEL_"))]:
        del os.environ[name]
    for source in SOURCES:
        for words in COMMANDS:
            output_file(source, words).write_text(output(source, words), encoding="utf-8")
