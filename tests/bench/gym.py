"""How long a fault-free collection takes with failgraph, and without: `python tests/bench/gym.py [ROWS] [PAIRS]`.

Two fleets of real Gym servers, both with OpenTelemetry's auto-instrumentation, collect the same rows one after the
other, in turns; of each pair the ratio counts, since the machine is busy now and idle then. Beside the time that passes
it says how long all processors worked, in the collector and in every server, which others on the machine disturb less.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from gym_fleet import Fleet, agent_row, overlay, running
from real_programs import require

OTLP = {
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_METRICS_EXPORTER": "none",
    "OTEL_LOGS_EXPORTER": "none",
}


class Took(NamedTuple):
    """Seconds that passed, and that processors worked."""

    passed: float
    worked: float


def worked(fleet: Fleet) -> float:
    """Seconds that processors have worked for the servers until now."""
    fields = [
        Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        for process in servers(fleet)
    ]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def servers(fleet: Fleet) -> list[subprocess.Popen]:
    return [process for name, process in fleet.processes.items() if name != "upstream"]


def measured(fleet: Fleet, name: str, rows: int) -> Took:
    warm = fleet.folder / "warm.jsonl"
    warm.write_text("".join(json.dumps(agent_row("fine")) + "\n" for _ in range(20)))
    before = worked(fleet)
    saved = fleet.collect(name, [agent_row("fine")] * rows, warm=str(warm))
    assert [row["reward"] for row in saved] == [1.0] * rows
    passed, here = map(float, re.findall(r"took: ([0-9.]+) worked: ([0-9.]+)", fleet.output)[-1])
    return Took(passed, here + worked(fleet) - before)


def main(rows: int, pairs: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="bench-gym-"))
    python = overlay(folder, require("gym"))
    homes = {name: folder / name for name in ("without", "with")}
    for home in homes.values():
        home.mkdir()
    with (
        running(homes["without"], python, OTLP, instrument=True) as without,
        running(
            homes["with"], python, {**OTLP, "FAILGRAPH_ENABLED": "true"}, instrument=True
        ) as on,
    ):
        ratios: list[Took] = []
        for index in range(pairs + 1):
            first, second = (without, on) if index % 2 else (on, without)
            took = {fleet: measured(fleet, f"run-{index}", rows) for fleet in (first, second)}
            if index:  # the first warms up
                ratios.append(
                    Took(*(one / other for one, other in zip(took[on], took[without], strict=True)))
                )
                print(f"without {took[without]}, with {took[on]}: {ratios[-1]}", flush=True)
        passed, work = (statistics.median(each) for each in zip(*ratios, strict=True))
        print(
            f"median of {pairs} pairs, {rows} rollouts each: {passed:.3f} of the time, {work:.3f} of the work"
        )


if __name__ == "__main__":
    main(*(int(word) for word in [*sys.argv[1:], *("200", "10")[len(sys.argv) - 1 :]]))
