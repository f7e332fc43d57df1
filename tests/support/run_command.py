"""What a command of failgraph did that ran in this process."""

from __future__ import annotations

from typing import NamedTuple


class Done(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str
