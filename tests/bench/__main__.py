"""Measure all rows and print them as a table: `make bench`.

`make bench ARGS='--quick read'` measures one group, roughly. The results go to a JSON file, too.
"""

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
    """Return the machine and the versions."""
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


def table_line(row: Row) -> str:
    """Return a row as a line of the table."""
    low, high = row.spread
    goal = "" if row.goal is None else f"≤ {row.goal:g}"
    verdict = ""
    if row.goal is not None:
        verdict = "missed" if row.missed else "met"
    cost = "" if row.cost_us is None else f"{row.cost_us:,.1f} µs a {row.each}"
    value = f"{row.median:.3f}" if row.unit != "µs" else f"{row.median:,.1f}"
    spread = f"{low:.3f}–{high:.3f}" if len(row.values) > 1 else ""
    unit = "" if row.unit == "×" else f" {row.unit}"
    return (
        f"| {row.work} | {row.against} | {value}{unit} | {spread} | {goal} | {verdict} | {cost} |"
    )


def as_json(row: Row) -> dict[str, Any]:
    """Return a row as it goes into the JSON file."""
    return {**row._asdict(), "median": row.median, "spread": row.spread, "missed": row.missed}


def main() -> int:
    """Measure, print each row as soon as it is known, and write all to a file."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "groups", nargs="*", metavar="GROUP", help=f"one of {', '.join(GROUPS)}; default: all"
    )
    parser.add_argument("--quick", action="store_true", help="fewer repeats and smaller files")
    parser.add_argument(
        "--json",
        type=Path,
        default=Path(".bench.json"),
        help="file for the results (default: %(default)s)",
    )
    arguments = parser.parse_args()
    if set(arguments.groups) - GROUPS.keys():
        unknown = ", ".join(sorted(set(arguments.groups) - GROUPS.keys()))
        parser.error(f"unknown group {unknown}; the groups are {', '.join(GROUPS)}")
    scale = QUICK if arguments.quick else Scale()
    print("| work | against | median | quartiles | goal | | CPU time |")
    print("|---|---|---|---|---|---|---|", flush=True)
    results = []
    for name in arguments.groups or GROUPS:
        for row in GROUPS[name](scale):
            print(table_line(row), flush=True)
            results.append(row)
    print("\n" + ", ".join(f"{name} {value}" for name, value in machine().items()))
    document = {
        "machine": machine(),
        "scale": scale._asdict(),
        "rows": [as_json(row) for row in results],
    }
    arguments.json.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
