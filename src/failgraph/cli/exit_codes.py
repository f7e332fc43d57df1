"""The exit codes."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
"""Done; that a source holds no failures is no error."""

FINDING: Final = 1
"""A finding: with `--strict`, something was lost."""

WRONG_USE: Final = 2
"""Wrong use, or settings that cannot be used."""

NO_SOURCE: Final = 3
"""The source cannot be read, holds no trace, or not that trace; or the output cannot be written."""
