"""How long a fault-free collection takes with failgraph, and without: `python tests/bench_gym.py [ROWS] [PAIRS]`.

Two fleets of real Gym servers, both with OpenTelemetry's auto-instrumentation, collect the same rows one after the
other, in turns; of each pair the ratio counts, since the machine is busy now and idle then.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
from pathlib import Path

from gym_fleet import Fleet, agent_row, overlay, place, running

OTLP = {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}


def seconds(fleet: Fleet, name: str, rows: int) -> float:
    saved = fleet.collect(name, [agent_row("fine")] * rows)
    assert [row["reward"] for row in saved] == [1.0] * rows
    return float(re.findall(r"took: ([0-9.]+)", fleet.said)[-1])


def main(rows: int, pairs: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="bench-gym-"))
    python = overlay(folder, place())
    homes = {name: folder / name for name in ("without", "with")}
    for home in homes.values():
        home.mkdir()
    with (
        running(homes["without"], python, OTLP, instrument=True) as without,
        running(homes["with"], python, {**OTLP, "FAILGRAPH_ENABLED": "true"}, instrument=True) as on,
    ):
        ratios = []
        for index in range(pairs + 1):
            first, second = (without, on) if index % 2 else (on, without)
            took = {fleet: seconds(fleet, f"run-{index}", rows) for fleet in (first, second)}
            if index:  # the first warms up
                ratios.append(took[on] / took[without])
                print(f"{took[without]:.2f} s without, {took[on]:.2f} s with: {ratios[-1]:.3f}", flush=True)
        print(f"median {statistics.median(ratios):.3f} of {pairs} pairs, {rows} rollouts each")


if __name__ == "__main__":
    main(*(int(word) for word in [*sys.argv[1:], *("200", "10")[len(sys.argv) - 1 :]]))
