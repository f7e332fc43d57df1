"""Text that the wire can carry (valid UTF-8, no longer than its field allows), and text that a terminal can."""

from __future__ import annotations

import hashlib
import unicodedata

from failgraph.diagnostics import count

ELLIPSIS = "…"
ID_LENGTH = 128
"""The longest id that a `cause_id` or a `failure_id` can name, in characters."""

_MAX_SHARED, _MAX_SHARED_LENGTH = 1 << 16, 256
_shared: dict[str, str] = {}

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that move, hide, reorder or break text: controls, formats (bidi), surrogates, separators."""


def escape_surrogates(text: str) -> str:
    r"""`text` with lone surrogates written out (as `\ud800`) and counted; one in a name or a status costs a batch."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        count("surrogate_escaped")
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def shared(text: str) -> str:
    """`text` as one object with equal ones before it: for names and ids, of which the same come again and again.

    Not by `sys.intern`: there they would stay for the life of the process.
    """
    if len(text) > _MAX_SHARED_LENGTH:
        return text
    if len(_shared) >= _MAX_SHARED:
        _shared.clear()
    return _shared.setdefault(text, text)


def cut(text: str, limit: int) -> str:
    """`text` in at most `limit` characters; a cut one ends in an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def bounded_id(text: str) -> str:
    """An id that can be named: one over 128 characters keeps its beginning and gets a digest of the whole.

    The same long id always becomes the same short one, so edges that name it still meet.
    """
    if len(text) <= ID_LENGTH:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return text[: ID_LENGTH - len(digest) - 1] + ELLIPSIS + digest


def safe_str(value: object) -> str:
    """`str(value)`, or a note of its type where that itself fails."""
    try:
        # Of an enum that is a str its value, not its name.
        return str.__str__(value) if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001 - an object of the user's may raise anything here
        return f"<unprintable {type(value).__name__}>"


def sanitize(text: str, limit: int = 200) -> str:
    """`text` in one line of at most `limit` characters, each unsafe character written out as an escape."""
    shown = cut(text, limit)
    if shown.isascii() and shown.isprintable():
        return shown
    return "".join(
        _escaped(char) if unicodedata.category(char) in _UNSAFE else char for char in shown
    )


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
