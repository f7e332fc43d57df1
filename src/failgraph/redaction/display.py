"""Text made safe to show to people: names from other programs are data, never markup or control."""

from __future__ import annotations

from failgraph.redaction.truncation import redact_and_truncate
from failgraph.text import sanitize


def display(text: str, limit: int = 200) -> str:
    """Redact a text, truncate it to `limit` characters, then escape its unsafe characters."""
    return sanitize(redact_and_truncate(text, limit), limit)
