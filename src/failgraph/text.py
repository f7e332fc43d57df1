"""Text made fit for the wire (valid UTF-8, within the limit of its field) and for a terminal."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from itertools import islice

from failgraph.diagnostics import count

ELLIPSIS = "…"
MAX_ID_LENGTH = 128
"""Characters of the longest id that a `cause_id` or a `failure_id` can name."""

_MAX_INTERNED, _MAX_INTERNED_LENGTH = 1 << 16, 256
_interned: dict[str, str] = {}
_MAX_COMPARED = 2000  # choices that a suggestion is looked for in
_MIN_LIKENESS = 0.75  # of a suggestion, from 0 to 1: a letter wrong or two exchanged

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that move, hide, reorder or break text: controls, bidi, surrogates, …"""


def escape_surrogates(text: str) -> str:
    r"""Return a text with each lone surrogate written as `\ud800`, and count that it had some.

    An exporter cannot encode one, and loses its whole batch of spans for it.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        count("surrogate_escaped")
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def interned(text: str) -> str:
    """Return the first equal text, so that repeated names and ids share one object.

    Unlike `sys.intern`, this keeps no text for the life of the process: at 65,536 texts it starts
    again.
    """
    if len(text) > _MAX_INTERNED_LENGTH:
        return text
    if len(_interned) >= _MAX_INTERNED:
        _interned.clear()
    return _interned.setdefault(text, text)


def truncate(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text; a truncated one ends in an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def bounded_id(text: str) -> str:
    """Shorten an id to at most 128 characters: its beginning and a digest of the whole.

    Equal ids stay equal, so edges that name a long id still meet.
    """
    if len(text) <= MAX_ID_LENGTH:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return text[: MAX_ID_LENGTH - len(digest) - 1] + ELLIPSIS + digest


def safe_str(value: object) -> str:
    """Return `str(value)`, or a note that names its type if that raises."""
    try:
        # Of an enum that is a str, the value instead of the member's name.
        return str.__str__(value) if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001 - a user's object may raise anything here
        return f"<unprintable {type(value).__name__}>"


def sanitize(text: str, limit: int = 200) -> str:
    """Truncate a text to `limit` characters and escape its unsafe ones, so that it is one line.

    Secrets stay: `redaction.display` removes them too.
    """
    truncated = truncate(text, limit)
    if truncated.isascii() and truncated.isprintable():
        return truncated
    return "".join(map(_escape_unsafe, truncated))


def _escape_unsafe(char: str) -> str:
    """Return the character, or its escape if its category is unsafe."""
    if unicodedata.category(char) in _UNSAFE:
        return char.encode("unicode_escape").decode("ascii")
    return char


def close_to(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that is nearly the word, or None if there is none."""
    from difflib import get_close_matches  # needed for messages only

    close = get_close_matches(word, list(islice(choices, _MAX_COMPARED)), cutoff=_MIN_LIKENESS)
    return close[0] if close else None


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return ` (did you mean …?)` with the choice that is nearly the word, or an empty text."""
    close = close_to(word, choices)
    return "" if close is None else f" (did you mean {close}?)"
