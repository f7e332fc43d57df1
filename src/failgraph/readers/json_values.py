"""Access the parts of a JSON document with a check of their types.

A part of a wrong type is dropped and reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from typing import NamedTuple

from failgraph.readers.summary import SourceSummary
from failgraph.traces.spans import Value

_DECIMAL = re.compile(r"-?[0-9]{1,20}")


class DocumentContext(NamedTuple):
    """What the readers of a JSON document need besides the document.

    Attributes:
        line: Number of the document's first line, from 1.
        summary: Receives what is wrong with the document.
        trace_ids: The wanted traces, or None for all. A reader may yield spans of others too.
    """

    line: int
    summary: SourceSummary
    trace_ids: Container[str] | None = None

    def add_problem(self, problem: str) -> None:
        """Report a part that is not as the format has it, and is left out."""
        self.summary.add_bad_line(f"line {self.line}: {problem}")

    def dict(self, value: object, name: str) -> Mapping[str, object]:
        """Return `value` if it is an object, else an empty one. Report it unless it is absent."""
        if isinstance(value, dict):
            return value
        if value is not None:
            self.add_problem(f"{name} must be an object")
        return {}

    def list(self, value: object, name: str) -> list[object]:
        """Return `value` if it is an array, else an empty one. Report it unless it is absent."""
        if isinstance(value, list):
            return value
        if value is not None:
            self.add_problem(f"{name} must be an array")
        return []

    def text(self, value: object, name: str) -> str:
        """Return `value` if it is a string, else an empty one. Report it unless it is absent."""
        if isinstance(value, str):
            return value
        if value is not None:
            self.add_problem(f"{name} must be a string")
        return ""


def integer(value: object) -> int | None:
    """Return a 64-bit integer given as a number or as text, or None for anything else."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if -(2**63) <= value < 2**64 else None


def non_negative(value: object) -> int:
    """Return a time or a count given as a number or as text, or 0 for anything else."""
    return max(0, integer(value) or 0)


def array(value: object) -> Value:
    """Return an array of scalars, also if it is given as JSON text, as Jaeger does.

    A text that is not such an array is returned as it is. Anything but a scalar becomes None.
    """
    parsed = value
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(parsed, list):
        return [item if isinstance(item, (str, bool, int, float)) else None for item in parsed]
    return value if isinstance(value, (str, bool, int, float)) else None


def fingerprint(resource: object) -> int:
    """Return a number that is equal for equal resources. The resource itself is not kept."""
    try:
        return hash(json.dumps(resource, sort_keys=True))
    except RecursionError:
        return 0
