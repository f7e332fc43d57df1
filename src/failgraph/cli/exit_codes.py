"""The exit codes."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
"""Success, also if no failure was found."""

FINDING: Final = 1
"""A finding: something was lost and `--strict` is given, or `doctor` found a problem."""

WRONG_USE: Final = 2
"""Wrong arguments or settings."""

NO_SOURCE: Final = 3
"""The source cannot be read or does not have that trace, or the output cannot be written."""
