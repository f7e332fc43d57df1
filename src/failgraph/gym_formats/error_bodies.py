r"""The 500 bodies of Gym's servers: each hop quotes the body of the one below it, as text in text.

    "Hit an exception in SimpleAgent___agent calling an inner server: b'\"ValueError(\\'verify exploded\\')\"'"

A body is a JSON string; what it quotes is the `repr` of bytes, which are again such a body, or at last the `repr` of
the exception. Collections cut a body at 2,000 characters, so any of it may end early.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from failgraph.text import ELLIPSIS

MAX_HOPS = 8
"""Hops that are taken out of one body; the rest stays text."""

_MAX_CHARACTERS = 65_536
_HOP = re.compile(
    r"Hit an exception in (\w{1,200}?)___(\S{1,200}) calling an inner server: (.*)", re.DOTALL
)
_EXCEPTION = re.compile(r"([A-Za-z_][\w.]{0,199})\((.*?)\)?", re.DOTALL)
_LITERAL = re.compile(r"(b?)(['\"])((?:[^\\'\"]|\\.|(?!\2)['\"])*)(.*)", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(000[0-9a-fA-F]{5})|(.))", re.DOTALL
)
_PLAIN = {"n": "\n", "r": "\r", "t": "\t"}
_HALF = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?\Z")


class FailedServer(NamedTuple):
    """A server that answered 500 because one that it called did."""

    class_name: str
    name: str


class QuotedException(NamedTuple):
    """An exception as its `repr` shows it."""

    type_name: str
    message: str


class ErrorBody(NamedTuple):
    """What a body says."""

    servers: tuple[FailedServer, ...]
    """From the server that answered downwards."""
    text: str
    """What the innermost server answered."""
    is_cut: bool = False
    """Whether Gym kept only the beginning of it."""

    @property
    def exception(self) -> QuotedException | None:
        """The type and the text of the exception that the innermost server answered with; None where it is none."""
        shown = _EXCEPTION.fullmatch(self.text)
        if shown is None:
            return None
        message = _literal(shown[2])
        return QuotedException(shown[1], shown[2] if message is None else message)


def parse_error_body(body: str) -> ErrorBody:
    """The servers that a 500 body names, and what the innermost of them was answered. Never raises."""
    servers: list[FailedServer] = []
    is_cut = len(body) > _MAX_CHARACTERS or body.endswith(ELLIPSIS)
    text = _json_text(body[:_MAX_CHARACTERS].removesuffix(ELLIPSIS))
    while len(servers) < MAX_HOPS and (hop := _HOP.fullmatch(text)) is not None:
        quoted = _literal(hop[3])
        if quoted is None:
            break
        servers.append(FailedServer(hop[1], hop[2]))
        text = _json_text(quoted)
    return ErrorBody(tuple(servers), text, is_cut)


def _json_text(body: str) -> str:
    """The text that a JSON string is, also where it ends early; anything else as it is."""
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
    """`text` without an escape that it ends in the middle of."""
    half = _HALF.search(text)
    before = text[: half.start()] if half is not None else text
    # Behind an odd number of backslashes it is plain text.
    return text if (len(before) - len(before.rstrip("\\"))) % 2 else before


def _literal(text: str) -> str | None:
    """The text that the `repr` of a text or of bytes stands for, also where it ends early; None where it is none."""
    found = _LITERAL.fullmatch(text)
    if found is None or found[4] not in ("", "\\", found[2]):
        return None
    whole = found[4] == found[2]
    inner = _ESCAPE.sub(_unescaped, found[3] if whole else _without_half_escape(found[3]))
    return inner.encode("latin-1", "replace").decode("utf-8", "replace") if found[1] else inner


def _unescaped(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2] or escape[3]
    return chr(int(digits, 16)) if digits else _PLAIN.get(escape[4], escape[4])
