"""Text from records and telemetry, made harmless for a terminal: it is data, never markup or control."""

from __future__ import annotations

import unicodedata

from failgraph.redaction import redacted_beginning
from failgraph.text import cut

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that move, hide, reorder or break text: controls, formats (bidi), surrogates, separators."""


def neutral(text: str, limit: int = 200) -> str:
    """`text` in one line of at most `limit` characters, each unsafe character written out as an escape."""
    shown = cut(text, limit)
    if shown.isascii() and shown.isprintable():
        return shown
    return "".join(_escaped(char) if unicodedata.category(char) in _UNSAFE else char for char in shown)


def shown(text: str, limit: int = 200) -> str:
    """A name that a program gave, without secrets, and neutral."""
    return neutral(redacted_beginning(text, limit), limit)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
