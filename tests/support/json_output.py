"""The JSON lines that a reading command prints: its results, then one about the source."""

from __future__ import annotations

import json
from typing import Any


def results_in(out: str | bytes) -> list[dict[str, Any]]:
    """Return the results, without the source's line; empty if nothing was printed."""
    rows = [json.loads(line) for line in out.splitlines()]
    assert not rows or set(rows[-1]) == {"source", "traces", "losses"}
    return rows[:-1]


def source_in(out: str | bytes) -> dict[str, Any]:
    """Return what the last line says about the source."""
    row: dict[str, Any] = json.loads(out.splitlines()[-1])
    assert set(row) == {"source", "traces", "losses"}
    return row
