"""What each part of `doctor` finds."""

from __future__ import annotations

from typing import Literal, NamedTuple

State = Literal["ok", "note", "problem"]


class Check(NamedTuple):
    """One thing that was looked at."""

    part: str
    """`settings`, `journal`, `attachment`, `endpoint` or `round trip`."""
    state: State
    """`note`: worth knowing; `problem`: failures would be lost, or nothing would be recorded."""
    text: str
