"""Measure a NeMo Gym collection without faults, with failgraph and without.

`python tests/bench/gym.py [ROWS] [PAIRS]`

Two fleets of real Gym servers, both with OpenTelemetry's auto-instrumentation, collect the same
rows in turns. The ratio of each pair counts, since the load of the machine changes. The CPU time of
the collection and all servers is measured, too: other work on the machine disturbs it less.
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


class Times(NamedTuple):
    """Seconds of wall-clock time and of CPU time, or ratios of them."""

    wall: float
    cpu: float


def cpu_time(fleet: Fleet) -> float:
    """Return the CPU time of all servers since they started, in seconds."""
    fields = [
        Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        for process in servers(fleet)
    ]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def servers(fleet: Fleet) -> list[subprocess.Popen]:
    """Return the processes to measure; the model's upstream is not Gym's."""
    return [process for name, process in fleet.processes.items() if name != "upstream"]


def measure(fleet: Fleet, name: str, rows: int) -> Times:
    """Collect so many rows, after some that are not measured."""
    warm = fleet.folder / "warm.jsonl"
    warm.write_text("".join(json.dumps(agent_row("fine")) + "\n" for _ in range(20)))
    before = cpu_time(fleet)
    saved = fleet.collect(name, [agent_row("fine")] * rows, warm=str(warm))
    assert [row["reward"] for row in saved] == [1.0] * rows
    wall, own = map(float, re.findall(r"took: ([0-9.]+) worked: ([0-9.]+)", fleet.output)[-1])
    return Times(wall, own + cpu_time(fleet) - before)


def main(rows: int, pairs: int) -> None:
    """Measure so many pairs of collections and print the medians of their ratios."""
    folder = Path(tempfile.mkdtemp(prefix="bench-gym-"))
    python = overlay(folder, require("gym"))
    homes = {name: folder / name for name in ("without", "with")}
    for home in homes.values():
        home.mkdir()
    enabled = {**OTLP, "FAILGRAPH_ENABLED": "true"}
    with (
        running(homes["without"], python, OTLP, instrument=True) as without,
        running(homes["with"], python, enabled, instrument=True) as on,
    ):
        ratios: list[Times] = []
        for index in range(pairs + 1):
            first, second = (without, on) if index % 2 else (on, without)
            times = {fleet: measure(fleet, f"run-{index}", rows) for fleet in (first, second)}
            if index == 0:  # warms up
                continue
            ours, plain = times[on], times[without]
            ratios.append(Times(ours.wall / plain.wall, ours.cpu / plain.cpu))
            print(f"without {plain}, with {ours}: {ratios[-1]}", flush=True)
    wall = statistics.median(ratio.wall for ratio in ratios)
    cpu = statistics.median(ratio.cpu for ratio in ratios)
    print(f"median of {pairs} pairs, {rows} rollouts each: wall time × {wall:.3f}, CPU × {cpu:.3f}")


if __name__ == "__main__":
    main(*(int(word) for word in [*sys.argv[1:], *("200", "10")[len(sys.argv) - 1 :]]))
