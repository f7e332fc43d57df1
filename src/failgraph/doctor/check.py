"""What each part of `doctor` finds, and whom it asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from failgraph.readers import Reading

State = Literal["ok", "note", "problem"]

Ask = Callable[[str], Reading]
"""Gives what the backend has of a trace, by its id. Raises SourceError."""


class Check(NamedTuple):
    """One thing that was looked at."""

    part: str
    """`settings`, `journal`, `attachment`, `endpoint` or `round trip`."""
    state: State
    """`note`: worth knowing; `problem`: failures would be lost, or nothing would be recorded."""
    text: str
