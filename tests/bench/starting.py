"""Measure what starting costs: the interpreter, the import, the command."""

from __future__ import annotations

import compileall
import os
import shutil
import site
import sys
import tempfile
import time
import timeit
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import failgraph
from bench.measure import Row, Scale, child_cpu, more_ms, pairs, ratios

_SOURCE = Path(failgraph.__file__).parent


def environment(folder: Path, *, with_failgraph: bool) -> Path:
    """Make a virtual environment with the packages of this one, and return its interpreter.

    failgraph is compiled after it was copied, as pip does.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "elsewhere.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    if with_failgraph:
        shutil.copytree(_SOURCE, packages / "failgraph")
        shutil.copy(_SOURCE.parent / "failgraph.pth", packages)
        compileall.compile_dir(packages, quiet=1)
    return folder / "bin" / "python"


def rows(scale: Scale) -> Iterator[Row]:
    """Yield each row as soon as it is measured."""
    with tempfile.TemporaryDirectory(prefix="failgraph-bench-") as folder:
        without = environment(Path(folder) / "without", with_failgraph=False)
        installed = environment(Path(folder) / "with", with_failgraph=True)
        yield from _interpreter(without, installed, scale)
        yield Row(
            "start",
            "the line of the start-up file, unset",
            "nothing",
            (_line_ms(),),
            None,
            "ms more",
        )
        yield from _loading(str(installed), scale)


def _loading(python: str, scale: Scale) -> Iterator[Row]:
    def row(work: str, against: str, one: Sequence[str], other: Sequence[str]) -> Row:
        times = pairs(
            lambda: child_cpu(one), lambda: child_cpu(other), scale.repeats, clock=lambda run: run()
        )
        cost = sorted(times[0])[scale.repeats // 2] * 1e6
        return Row("start", work, against, ratios(times), cost_us=cost, each="process")

    ours, theirs = (
        "from failgraph import FailureEvent, record",
        "import pydantic, opentelemetry.trace",
    )
    yield row(f"`{ours}`", f"`{theirs}`", [python, "-c", ours], [python, "-c", theirs])
    command = [python, str(Path(sys.executable).with_name("failgraph")), "--help"]
    yield row("`failgraph --help`", "`import argparse`", command, [python, "-c", "import argparse"])


def _interpreter(without: Path, installed: Path, scale: Scale) -> Iterator[Row]:
    def row(work: str, goal: float, environ: Mapping[str, str]) -> Row:
        ours = lambda: child_cpu([str(installed), "-c", "pass"], environ)  # noqa: E731
        times = pairs(
            ours,
            lambda: child_cpu([str(without), "-c", "pass"]),
            scale.first,
            clock=lambda run: run(),
        )
        return Row("start", work, "not installed", more_ms(times), goal, "ms more")

    yield row("interpreter start, failgraph installed and off", 1.0, {**os.environ})
    yield row(
        "interpreter start, failgraph on and not used",
        5.0,
        {**os.environ, "FAILGRAPH_ENABLED": "true"},
    )


def _line_ms() -> float:
    line = compile((_SOURCE.parent / "failgraph.pth").read_text(), "pth", "exec")
    return timeit.timeit(lambda: exec(line), number=1000, timer=time.thread_time)
