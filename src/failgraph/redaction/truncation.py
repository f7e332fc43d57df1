"""Truncation of redacted text. Redaction comes first: half a secret is not recognized as one."""

from __future__ import annotations

from failgraph.redaction.markers import MARKER_PREFIX
from failgraph.redaction.texts import redact
from failgraph.text import ELLIPSIS, truncate

_LOOKAHEAD = 4096
"""Characters beyond the limit that are redacted too: a secret that the limit cuts is seen whole."""


def redact_and_truncate(text: str, limit: int) -> str:
    """Redact a text and truncate it to `limit` characters, an ellipsis included.

    Only the first `limit` + 4,096 characters are looked at.
    """
    window = limit + _LOOKAHEAD
    if len(text) <= window:
        return truncate_redacted(redact(text), limit)
    # The word at the end of the window goes: it may be half a secret.
    return truncate_redacted(redact(text[:window].rpartition(" ")[0]) + ELLIPSIS, limit)


def truncate_redacted(text: str, limit: int) -> str:
    """Truncate a redacted text to `limit` characters; drop a marker that the limit would split."""
    if len(text) <= limit:
        return text
    truncated = truncate(text, limit)
    start = truncated.rfind("[", 0, -1)
    if start < 0:
        return truncated
    end = truncated[start:-1]
    is_marker = end.startswith(MARKER_PREFIX) or MARKER_PREFIX.startswith(end)
    return truncated[:start] + ELLIPSIS if is_marker and "]" not in end else truncated
