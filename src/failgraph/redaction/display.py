"""Names that programs gave, made harmless for a terminal: they are data, never markup or control."""

from __future__ import annotations

from failgraph.redaction import redacted_beginning
from failgraph.text import neutral

__all__ = ["neutral", "shown"]


def shown(text: str, limit: int = 200) -> str:
    """A name that a program gave, without secrets, and neutral."""
    return neutral(redacted_beginning(text, limit), limit)
