"""Text made safe to show to people: names from other programs are data, never markup or control."""

from __future__ import annotations

from failgraph.redaction.truncation import redact_and_truncate
from failgraph.text import sanitize


def display(text: str, limit: int = 200) -> str:
    """Return a text without secrets, truncated to `limit` characters, then with unsafe characters escaped."""
    return sanitize(redact_and_truncate(text, limit), limit)
