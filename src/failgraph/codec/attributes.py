"""Write one text or integer as attributes and read it back.

Long texts are split into chunks that every backend carries, and integers beyond 64 bits become
text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from failgraph.semconv import CAUSE_SPAN_ID, CAUSE_TRACE_ID, CHUNK_BYTES, PREFIX, REST
from failgraph.text import escape_surrogates

Value = str | bool | int | tuple[str, ...]
Attributes = dict[str, Value]

SURELY_SHORT = CHUNK_BYTES // 4  # characters that fit into one chunk, at 4 bytes each

_INTEGER = re.compile(r"-?[0-9]{1,10000}")
_NOT_OF_THE_RECORD = frozenset({CAUSE_TRACE_ID, CAUSE_SPAN_ID})


class AttributeLimits(NamedTuple):
    """What a tracer provider allows; None means no limit.

    Attributes:
        attributes: Attributes of one event, or attributes that may still be added to a span.
        value_length: Characters of one string value.
    """

    attributes: int | None = None
    value_length: int | None = None


NO_LIMITS = AttributeLimits()


def text_attributes(key: str, text: str, value_length: int | None) -> Attributes:
    """Write `text` under `key`, continued in an array `<key>_rest` if one value cannot hold it.

    Args:
        key: The attribute.
        text: Valid UTF-8.
        value_length: The longest string value in characters, or None for no limit.
    """
    characters = CHUNK_BYTES if value_length is None else max(1, min(value_length, CHUNK_BYTES))
    first, *rest = _chunks(text, characters)
    return {key: first, key + REST: tuple(rest)} if rest else {key: first}


def _chunks(text: str, characters: int) -> list[str]:
    if len(text) <= characters and (len(text) <= SURELY_SHORT or len(text.encode()) <= CHUNK_BYTES):
        return [text]
    chunks, start = [], 0
    while start < len(text):
        # "ignore" drops the bytes of a character that does not fit whole; the next chunk has it.
        chunk = text[start : start + characters].encode()[:CHUNK_BYTES].decode("utf-8", "ignore")
        chunks.append(chunk)
        start += len(chunk)
    return chunks


def int_attributes(key: str, value: int, value_length: int | None) -> Attributes:
    """Write `value` under `key`, as decimal text if it does not fit into 64 bits."""
    if -(2**63) <= value < 2**63:
        return {key: value}
    # Through Decimal, because Python limits the digits that int converts to and from text.
    return text_attributes(key, str(Decimal(value)), value_length)


def read_int(value: object) -> int | None:
    """Return the integer that an attribute holds as a number or decimal text, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(Decimal(value))
    return None


def read_text(attributes: Mapping[str, object], key: str) -> str | None:
    """Return the whole text under `key` in valid UTF-8, or None if its beginning is no text."""
    first = attributes.get(key)
    if not isinstance(first, str):
        return None
    rest = attributes.get(key + REST, ())
    if not isinstance(rest, (list, tuple)):
        return None
    text = "".join([first, *_strings(rest)]) if rest else first
    return escape_surrogates(text)


def text_bytes(attributes: Mapping[str, object]) -> int:
    """Return the UTF-8 bytes of all texts of a record, as they stand in its attributes."""
    text = "".join(_texts(attributes))
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def trailing_replacement_bytes(attributes: Mapping[str, object]) -> int:
    """Return the UTF-8 bytes of replacement characters (U+FFFD) at the ends of texts."""
    return sum(3 * (len(text) - len(text.rstrip("\ufffd"))) for text in _texts(attributes))


def _texts(attributes: Mapping[str, object]) -> list[str]:
    values = [
        value
        for key, value in attributes.items()
        if key.startswith(PREFIX) and key not in _NOT_OF_THE_RECORD
    ]
    texts = [value for value in values if isinstance(value, str)]
    for value in values:
        if isinstance(value, (list, tuple)):
            texts += _strings(value)
    return texts


def _strings(array: list[object] | tuple[object, ...]) -> list[str]:
    return [item for item in array if isinstance(item, str)]
