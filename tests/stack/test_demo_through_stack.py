"""The demo and the commands against a real stack: a Collector, and a Jaeger behind it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("fastapi", reason="the demo's servers are FastAPI's, which this set lacks")
pytest.importorskip(
    "opentelemetry.instrumentation.httpx", reason="the demo's clients are traced by contrib"
)

from failgraph.cli import main
from json_output import results_in
from programs import clean_environment
from real_backends import collector, jaeger

pytestmark = pytest.mark.needs("collector", "jaeger")

Row = dict[str, Any]


class Stack(NamedTuple):
    """A Collector and a Jaeger that got the demo and the check of `doctor`.

    Attributes:
        jaeger: URL of the Jaeger.
        file: What the Collector wrote.
        demo: Output of the demo.
        doctor: The finished `failgraph doctor`.
    """

    jaeger: str
    file: Path
    demo: str
    doctor: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def stack(tmp_path_factory) -> Iterator[Stack]:
    """Run the demo and doctor with the addresses of a Collector and a Jaeger."""
    folder = tmp_path_factory.mktemp("stack")
    with jaeger(folder) as there, collector(folder, there) as between:
        environ = clean_environment()
        environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://{between.otlp_grpc}"
        environ["OTEL_EXPORTER_OTLP_PROTOCOL"] = "grpc"
        environ["FAILGRAPH_JAEGER_URL"] = there.query

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "failgraph", *words]
            return subprocess.run(
                command, env=environ, capture_output=True, text=True, check=False, timeout=120
            )

        demo, doctor = run("demo"), run("doctor", "jaeger")
        between.end()
        assert (demo.returncode, demo.stderr) == (0, "")
        yield Stack(there.query, between.json, demo.stdout, doctor)


@pytest.fixture
def rows(stack, setting, capsys) -> Callable[..., list[Row]]:
    """Return a function that runs a command with `--json`."""
    setting("JAEGER_URL", stack.jaeger)

    def ask(*words: str) -> list[Row]:
        assert main([*words, "--json"]) == 0
        return results_in(capsys.readouterr().out)

    return ask


def test_doctor_finds_no_loss(stack):
    """The marked failure graph comes back from Jaeger as it was sent."""
    assert stack.doctor.returncode == 0, stack.doctor.stdout
    assert "nothing was lost between the exporter and jaeger" in stack.doctor.stdout


def test_the_demo_prints_the_page_of_each_failing_rollout(stack, rows):
    """`show` accepts each URL as it is."""
    pages = [line.strip() for line in stack.demo.splitlines() if f"{stack.jaeger}/trace/" in line]
    assert len(pages) == len(set(pages)) == 7
    for page in pages:
        (row,) = rows("show", page)
        assert page.endswith(row["trace_id"])
        assert row["losses"] == []


@pytest.mark.parametrize("command", ["list", "show"])
@pytest.mark.parametrize(
    "asked",
    [
        [],
        ["--since", "1h"],
        ["--kind", "judge_failed"],
        ["--boundary", "model"],
        ["--service", "environment"],
        ["--rollout", "sandbox-killed"],
        ["--kind", "none"],
    ],
)
def test_jaeger_and_the_collectors_file_give_the_same_rows(stack, rows, command, asked):
    """To the nanosecond, and in the same order."""
    found = rows(command, "jaeger", *asked)
    assert found == rows(command, str(stack.file), *asked)
    assert bool(found) is (asked != ["--kind", "none"])


def test_top_gives_the_same_rows(stack, rows):
    """Counts, root causes, recovered failures, time lost and its share, and delays."""
    found, wanted = rows("top", "jaeger"), rows("top", str(stack.file))
    assert len(found) > 5
    shares = [[row.pop("time_lost_ratio") for row in each] for each in (found, wanted)]
    assert shares[0] == pytest.approx(shares[1], rel=1e-3)
    assert found == wanted
