"""The exit codes."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
"""Done, also if no failure was found or no filter matches."""

FINDING: Final = 1
"""Something was lost and `--strict` is given, or `doctor` found a problem."""

WRONG_USE: Final = 2
"""Wrong use, or invalid settings."""

NO_SOURCE: Final = 3
"""A source cannot be read, or has no trace or not that one; or an output cannot be written."""

CANNOT_RUN: Final = 126
"""Only `run`: the program cannot be run, for example because it is not executable."""

NO_PROGRAM: Final = 127
"""Only `run`: there is no such program. A program that runs ends with its own code."""
