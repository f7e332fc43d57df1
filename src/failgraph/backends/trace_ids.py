"""Trace ids as backends and URLs write them, as 32 lower-case hex digits."""

from __future__ import annotations

import re

_PADDED = re.compile(r"[0-9a-fA-F]{1,32}")
_WHOLE = re.compile(r"[0-9a-fA-F]{16}|[0-9a-fA-F]{32}")


def padded_trace_id(value: object) -> str | None:
    """Return an id from a search, which may lack leading zeros, or None if it is no trace id."""
    if not isinstance(value, str) or not _PADDED.fullmatch(value):
        return None
    return value.lower().zfill(32)


def whole_trace_id(text: str) -> str | None:
    """Return an id of 64 or 128 bits, or None if `text` has not 16 or 32 hex digits."""
    return text.lower().zfill(32) if _WHOLE.fullmatch(text) else None
