r"""The bodies of Gym's 500 replies: each server quotes the body of the server that it called.

    "Hit an exception in SimpleAgent___agent calling an inner server:
     b'\"ValueError(\\'verify exploded\\')\"'"

A body is a JSON string. It quotes the `repr` of bytes, which are such a body again; the innermost
is the `repr` of an exception. A collection keeps 2,000 characters, so a body may end anywhere.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from failgraph.text import ELLIPSIS

MAX_HOPS = 8
"""Servers that are parsed from one body; the rest stays text."""

_MAX_CHARACTERS = 65_536
_HOP = re.compile(
    r"Hit an exception in (\w{1,200}?)___(\S{1,200}) calling an inner server: (.*)", re.DOTALL
)
_EXCEPTION = re.compile(r"([A-Za-z_][\w.]{0,199})\((.*?)\)?", re.DOTALL)
_LITERAL = re.compile(r"(b?)(['\"])((?:[^\\'\"]|\\.|(?!\2)['\"])*)(.*)", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(000[0-9a-fA-F]{5})|(.))", re.DOTALL
)
_PLAIN_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?\Z")


class FailedServer(NamedTuple):
    """A server that replied with 500 because a server that it called did."""

    class_name: str
    name: str


class QuotedException(NamedTuple):
    """An exception as its `repr` shows it."""

    type_name: str
    message: str


class ErrorBody(NamedTuple):
    """The content of an error body.

    Attributes:
        servers: The servers that it names, from the one that replied downwards.
        text: What the innermost server replied.
        is_cut: True if Gym kept only the beginning of the body.
    """

    servers: tuple[FailedServer, ...]
    text: str
    is_cut: bool = False

    @property
    def exception(self) -> QuotedException | None:
        """The exception that the innermost server replied with, or None if it is another text."""
        match = _EXCEPTION.fullmatch(self.text)
        if match is None:
            return None
        message = _parse_literal(match[2])
        return QuotedException(match[1], match[2] if message is None else message)


def parse_error_body(body: str) -> ErrorBody:
    """Parse the body of a 500 reply. Never raises: any other text has no servers."""
    servers: list[FailedServer] = []
    is_cut = len(body) > _MAX_CHARACTERS or body.endswith(ELLIPSIS)
    text = _parse_json_text(body[:_MAX_CHARACTERS].removesuffix(ELLIPSIS))
    while len(servers) < MAX_HOPS and (hop := _HOP.fullmatch(text)) is not None:
        quoted = _parse_literal(hop[3])
        if quoted is None:
            break
        servers.append(FailedServer(hop[1], hop[2]))
        text = _parse_json_text(quoted)
    return ErrorBody(tuple(servers), text, is_cut)


def _parse_json_text(body: str) -> str:
    """Parse a JSON string, which may end early; return anything else as it is."""
    stripped = body.strip()
    if not stripped.startswith('"'):
        return body
    for candidate in (stripped, _without_half_escape(stripped) + '"'):
        try:
            text = json.loads(candidate, strict=False)
        except ValueError:
            continue
        if isinstance(text, str):
            return text
    return body


def _without_half_escape(text: str) -> str:
    """Drop an incomplete escape from the end of a text."""
    half = _HALF_ESCAPE.search(text)
    before = text[: half.start()] if half is not None else text
    backslashes = len(before) - len(before.rstrip("\\"))
    # An odd number of them before it escapes its own backslash: it is plain text.
    return text if backslashes % 2 else before


def _parse_literal(text: str) -> str | None:
    """Parse the `repr` of a text or of bytes, which may end early; None if it is neither."""
    literal = _LITERAL.fullmatch(text)
    if literal is None or literal[4] not in ("", "\\", literal[2]):
        return None
    is_whole = literal[4] == literal[2]
    inner = literal[3] if is_whole else _without_half_escape(literal[3])
    unescaped = _ESCAPE.sub(_unescape, inner)
    if not literal[1]:
        return unescaped
    return unescaped.encode("latin-1", "replace").decode("utf-8", "replace")


def _unescape(escape: re.Match[str]) -> str:
    """Return the character that an escape of Python stands for."""
    digits = escape[1] or escape[2] or escape[3]
    return chr(int(digits, 16)) if digits else _PLAIN_ESCAPES.get(escape[4], escape[4])
