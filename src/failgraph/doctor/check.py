"""What each part of `doctor` finds, and whom it asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from failgraph.readers import Reading

State = Literal["ok", "note", "problem"]


class CheckResult(NamedTuple):
    """One thing that was looked at.

    Attributes:
        part: `settings`, `journal`, `attachment`, `endpoint` or `round trip`.
        state: `note`: worth knowing; `problem`: failures would be lost, or nothing would be recorded.
        text: One line for people.
    """

    part: str
    state: State
    text: str


class TraceSource(NamedTuple):
    """Where traces can be read back.

    Attributes:
        name: As messages call it.
        read: Returns what it has of a trace, by the trace's id. Raises SourceError.
    """

    name: str
    read: Callable[[str], Reading]
