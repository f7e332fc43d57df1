"""`make bench`: all rows in one run, as a table and as JSON. `make bench ARGS='--quick read'`: one group, roughly."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

for _name in [name for name in os.environ if name.startswith(("FAILGRAPH_", "OTEL_"))]:
    del os.environ[_name]

from bench import growth, reading, running, serving, starting, text  # noqa: E402
from bench.measure import QUICK, Row, Scale  # noqa: E402

GROUPS: dict[str, Callable[[Scale], Iterator[Row]]] = {
    "run": running.rows,
    "serve": serving.rows,
    "text": text.rows,
    "read": reading.rows,
    "start": starting.rows,
    "growth": growth.rows,
}


def machine() -> dict[str, str]:
    """Where it was measured."""
    names = [
        line.partition(": ")[2] for line in _lines("/proc/cpuinfo") if line.startswith("model name")
    ]
    return {
        "processor": f"{os.cpu_count()} × {names[0] if names else platform.processor()}",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("opentelemetry-sdk", "pydantic", "failgraph")},
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def shown(row: Row) -> str:
    """A line of the table."""
    low, high = row.spread
    goal = "" if row.goal is None else f"≤ {row.goal:g}"
    verdict = "" if row.goal is None else "missed" if row.missed else "met"
    cost = "" if row.cost_us is None else f"{row.cost_us:,.1f} µs a {row.each}"
    value = f"{row.median:.3f}" if row.unit != "µs" else f"{row.median:,.1f}"
    spread = f"{low:.3f}–{high:.3f}" if len(row.values) > 1 else ""
    unit = "" if row.unit == "×" else f" {row.unit}"
    return (
        f"| {row.work} | {row.against} | {value}{unit} | {spread} | {goal} | {verdict} | {cost} |"
    )


def as_json(row: Row) -> dict[str, Any]:
    """A row as it is written down."""
    return {**row._asdict(), "median": row.median, "spread": row.spread, "missed": row.missed}


def main() -> int:
    """Measure, print each row as it comes, write all down."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; by default all"
    )
    parser.add_argument("--quick", action="store_true", help="fewer repeats and smaller files")
    parser.add_argument(
        "--json", type=Path, default=Path(".bench.json"), help="where the results go (%(default)s)"
    )
    arguments = parser.parse_args()
    if set(arguments.groups) - GROUPS.keys():
        parser.error(f"the groups are {', '.join(GROUPS)}")
    scale = QUICK if arguments.quick else Scale()
    print(
        "| work | against | median | quartiles | goal | | CPU time |\n|---|---|---|---|---|---|---|",
        flush=True,
    )
    found = []
    for name in arguments.groups or GROUPS:
        for row in GROUPS[name](scale):
            print(shown(row), flush=True)
            found.append(row)
    print("\n" + ", ".join(f"{name} {value}" for name, value in machine().items()))
    results = {
        "machine": machine(),
        "scale": scale._asdict(),
        "rows": [as_json(row) for row in found],
    }
    arguments.json.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
