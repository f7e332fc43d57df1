"""Names that programs gave, made harmless for a terminal: they are data, never markup or control."""

from __future__ import annotations

from failgraph.redaction import redact_and_truncate
from failgraph.text import sanitize

__all__ = ["display", "sanitize"]


def display(text: str, limit: int = 200) -> str:
    """A name that a program gave, without secrets, and sanitize."""
    return sanitize(redact_and_truncate(text, limit), limit)
