"""Regular expressions that are compiled at their first use: there are many, few texts need them, and it is slow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_METHODS = ("findall", "fullmatch", "match", "search", "split", "sub")


class Pattern:
    """What redaction uses of an `re.Pattern`."""

    findall: Callable[[str], list[str]]
    fullmatch: Callable[[str], re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    search: Callable[[str], re.Match[str] | None]
    split: Callable[[str], list[str]]
    sub: Callable[[Callable[[re.Match[str]], str], str], str]

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source, self._flags = source, flags

    def compiled(self) -> re.Pattern[str]:
        """The `re.Pattern` itself."""
        return re.compile(self._source, self._flags)

    def __getattr__(self, name: str) -> Any:
        """Compile it; from then on the methods are found as quickly as those of an `re.Pattern`."""
        compiled = self.compiled()
        vars(self).update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)
