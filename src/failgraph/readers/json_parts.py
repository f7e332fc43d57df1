"""The parts of a JSON document, checked: what is not of the type that it must have is left out, and said."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from typing import NamedTuple

from failgraph.readers.contents import BadLines
from failgraph.traces.spans import Value

_DECIMAL = re.compile(r"-?[0-9]{1,20}")


class At(NamedTuple):
    """A place of the source, and where to say what is wrong there."""

    line: int
    bad: BadLines
    trace_ids: Container[str] | None = None
    """The traces of which spans are asked for; a reader may give others too. None: of all."""

    def wrong(self, what: str) -> None:
        """Something is not as its dialect has it, and is left out."""
        self.bad.add(f"line {self.line}: {what}")

    def dict(self, value: object, what: str) -> Mapping[str, object]:
        """`value` where it is an object; empty, and said, where it is anything else but absent."""
        if isinstance(value, dict):
            return value
        if value is not None:
            self.wrong(f"{what} is no object")
        return {}

    def list(self, value: object, what: str) -> list[object]:
        """`value` where it is an array; empty, and said, where it is anything else but absent."""
        if isinstance(value, list):
            return value
        if value is not None:
            self.wrong(f"{what} is no array")
        return []

    def text(self, value: object, what: str) -> str:
        """`value` where it is text; empty, and said, where it is anything else but absent."""
        if isinstance(value, str):
            return value
        if value is not None:
            self.wrong(f"{what} is no text")
        return ""


def integer(value: object) -> int | None:
    """A 64-bit integer, given as a number or as text; None for anything else."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64
        else None
    )


def array(value: object) -> Value:
    """An array of scalars, also as the JSON text that Jaeger makes of one; a text that is none stays what it is."""
    found = value
    if isinstance(value, str):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if not isinstance(found, list):
        return value if isinstance(value, (str, bool, int, float)) else None
    return [item if isinstance(item, (str, bool, int, float)) else None for item in found]


def count(value: object) -> int:
    """A time or a count, given as a number or as text; 0 where it is absent or no such thing."""
    return max(0, integer(value) or 0)


def fingerprint(resource: object) -> int:
    """A number that is equal for equal resources; of what a resource says nothing else is kept."""
    try:
        return hash(json.dumps(resource, sort_keys=True))
    except RecursionError:
        return 0
