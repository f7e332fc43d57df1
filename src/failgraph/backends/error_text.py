"""What an error response says went wrong, in the backend's own words."""

from __future__ import annotations

import json

from failgraph.backends.location import BackendLocation
from failgraph.backends.response import HEAD_BYTES, is_html
from failgraph.readers.api_responses import unwrap
from failgraph.redaction import redact
from failgraph.redaction.display import display

_MESSAGE_KEYS = ("message", "error", "msg")


def error_text(location: BackendLocation, head: bytes) -> str:
    """Return the words of an error response for a message, or an empty string if it has none.

    Args:
        location: The backend, whose sent headers the response may repeat.
        head: The first `HEAD_BYTES` bytes of the body.
    """
    text = location.clean(head.decode("utf-8", "replace"))
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return "" if is_html(head) else _plain_words(text, is_cut=len(head) >= HEAD_BYTES)
    errors = [error for response in unwrap(document) for error in response.errors]
    if not errors and isinstance(document, dict):
        values = (document.get(key) for key in _MESSAGE_KEYS)
        errors = [value for value in values if isinstance(value, str)]
    return location.clean("; ".join(map(display, errors)))


def _plain_words(text: str, *, is_cut: bool) -> str:
    if is_cut:
        # The last word may be half a secret, which no rule would recognise.
        text = " ".join(text.rsplit(maxsplit=1)[:-1])
    # Redacted before lines are joined: the end of a line ends a secret.
    return display(" ".join(redact(text).split()))
