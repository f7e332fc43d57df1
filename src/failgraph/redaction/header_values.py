"""Removal of sent HTTP header values from text: a server that refuses them may repeat them."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence

from failgraph.redaction.markers import marker

_SHORTEST_SECRET = 4
"""Characters; a shorter header value is not secret, and may be part of any word."""
_SCHEMES = frozenset({"basic", "bearer", "token", "digest", "negotiate"})
"""Names of authentication schemes, which are not secret."""


def remove_header_values(text: str, sent: Sequence[str]) -> str:
    """Replace each value of `sent`, as it is or decoded, by a marker.

    Args:
        text: Words of a server, or an error of the client that quotes them.
        sent: The values of the headers that were sent to it.
    """
    for secret in sorted(_secrets(sent), key=len, reverse=True):
        text = text.replace(secret, marker("header"))
    return text


def _secrets(sent: Sequence[str]) -> Iterator[str]:
    """Yield each text that reveals a header: its parts, their base64 content, and their JSON."""
    for value in sent:
        parts = [value, *value.split()]
        parts += [decoded for part in parts if (decoded := _decoded(part))]
        after_colon = [part.rpartition(":")[2] for part in parts]
        after_equals = [part.partition("=")[2] for part in parts]
        for part in parts + after_colon + after_equals:
            if len(part) >= _SHORTEST_SECRET and part.lower() not in _SCHEMES:
                yield part
                yield json.dumps(part)[1:-1]


def _decoded(part: str) -> str:
    """Return the text that base64 `part` holds, or an empty string if it is not base64 text."""
    try:
        return base64.b64decode(part, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
