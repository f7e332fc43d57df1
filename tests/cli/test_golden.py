"""What the reading commands print for ten saved files, character by character.

To change a text on purpose, run `python tests/cli/test_golden.py`, which writes the outputs again,
and review the difference. JSON changes only if the contract changes.
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


def test_every_source_has_its_outputs():
    """Each of the ten sources has its outputs, and there are no others."""
    expected = {output_file(source, words) for source in SOURCES for words in COMMANDS}
    assert len(SOURCES) == 10
    assert set((FOLDER / "outputs").iterdir()) == expected


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_the_output_is_unchanged(source, words):
    """The output for each source is the same as before, as text and as JSON."""
    if source.suffixes[0] == ".pb":
        pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")
    assert output(source, words) == output_file(source, words).read_text(encoding="utf-8")


if __name__ == "__main__":
    for name in [name for name in os.environ if name.startswith(("FAILGRAPH_", "OTEL_"))]:
        del os.environ[name]
    for source in SOURCES:
        for words in COMMANDS:
            output_file(source, words).write_text(output(source, words), encoding="utf-8")
