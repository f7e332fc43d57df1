"""Regular expressions that are compiled at their first use.

Compiling all of them takes 60 ms, which a user's program would pay, and few texts need many.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property


class Pattern:
    """The part of an `re.Pattern` that redaction uses, compiled at its first use."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source = source
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The `re.Pattern` itself."""
        return re.compile(self._source, self._flags)

    def findall(self, text: str) -> list[str]:
        """Return all matches; the pattern has no groups."""
        return self.compiled.findall(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Match the whole text."""
        return self.compiled.fullmatch(text)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Match at `start`."""
        return self.compiled.match(text, start)

    def search(self, text: str) -> re.Match[str] | None:
        """Find the first match."""
        return self.compiled.search(text)

    def split(self, text: str) -> list[str]:
        """Split at each match; the pattern has no groups."""
        return self.compiled.split(text)

    def sub(self, replace: Callable[[re.Match[str]], str], text: str) -> str:
        """Replace each match."""
        return self.compiled.sub(replace, text)
