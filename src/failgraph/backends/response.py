"""A response of a backend, whose body has been read completely."""

from __future__ import annotations

import json
from typing import IO, NamedTuple, cast

HEAD_BYTES = 4096
"""Length of the beginning of a body that tells what it is; of an error response no more is read."""

_BLANK = b"\xef\xbb\xbf \t\r\n"  # a byte order mark and spaces
_HTML_STARTS = (b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--")


class Response(NamedTuple):
    """A response and its body; the file is closed when the client sends the next request.

    Attributes:
        status: The HTTP status.
        file: The whole body, or of an error its beginning.
        size: Bytes in `file`.
        head: The first `HEAD_BYTES` bytes of the body.
    """

    status: int
    file: IO[bytes]
    size: int
    head: bytes

    @property
    def is_json(self) -> bool:
        """True if the body looks like JSON, whatever its content type is."""
        return self.head.lstrip(_BLANK).startswith((b"{", b"["))

    @property
    def is_html(self) -> bool:
        """True if the body is a page for people, such as a login."""
        return is_html(self.head)

    def document(self) -> object:
        """Return the body as parsed JSON, or None if it is not JSON."""
        if not self.is_json:
            return None
        self.file.seek(0)
        try:
            return cast("object", json.load(self.file))
        except (ValueError, RecursionError):
            return None


def is_html(head: bytes) -> bool:
    """Return True if a body that begins with `head` is a page for people."""
    return head[:512].lstrip(_BLANK).lower().startswith(_HTML_STARTS)
