"""One text as attributes and back: chunks that every backend carries, and integers that do not fit 64 bits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from failgraph.semconv import CAUSE_SPAN_ID, CAUSE_TRACE_ID, CHUNK_BYTES, PREFIX, REST
from failgraph.text import escape_surrogates

Value = str | bool | int | tuple[str, ...]
Attributes = dict[str, Value]

SURELY_SHORT = CHUNK_BYTES // 4
"""Characters that fit into one chunk, whichever they are."""

_INTEGER = re.compile(r"-?[0-9]{1,10000}")
_UNCOUNTED = frozenset({CAUSE_TRACE_ID, CAUSE_SPAN_ID})


def text_attributes(key: str, text: str, value_length: int | None) -> Attributes:
    """`text` under `key`, continued under `<key>_rest` where one value cannot hold it."""
    first, *rest = _chunks(
        text, CHUNK_BYTES if value_length is None else max(1, min(value_length, CHUNK_BYTES))
    )
    return {key: first, key + REST: tuple(rest)} if rest else {key: first}


def _chunks(text: str, characters: int) -> list[str]:
    if len(text) <= characters and (len(text) <= SURELY_SHORT or len(text.encode()) <= CHUNK_BYTES):
        return [text]
    chunks, start = [], 0
    while start < len(text):
        # A chunk ends between two characters: the bytes of one that does not fit whole are left to the next.
        chunk = text[start : start + characters].encode()[:CHUNK_BYTES].decode("utf-8", "ignore")
        chunks.append(chunk)
        start += len(chunk)
    return chunks


def int_attributes(key: str, value: int, value_length: int | None) -> Attributes:
    """`value` under `key`, as decimal text where it does not fit into 64 bits."""
    if -(2**63) <= value < 2**63:
        return {key: value}
    # Through Decimal, since int has a limit on the digits that it prints and reads.
    return text_attributes(key, str(Decimal(value)), value_length)


def read_int(value: object) -> int | None:
    """The integer of an attribute, given as a number or as decimal text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(Decimal(value))
    return None


def read_text(attributes: Mapping[str, object], key: str) -> str | None:
    """The whole text under `key`, in valid UTF-8; None where it or its beginning is missing or no text."""
    first = attributes.get(key)
    if not isinstance(first, str):
        return None
    rest = attributes.get(key + REST, ())
    if not isinstance(rest, (list, tuple)):
        return None
    return escape_surrogates(
        "".join([first, *(chunk for chunk in rest if isinstance(chunk, str))]) if rest else first
    )


def text_bytes(attributes: Mapping[str, object]) -> int:
    """Bytes of UTF-8 of all texts of a record, as they stand in its attributes."""
    text = "".join(_texts(attributes))
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def halved_bytes(attributes: Mapping[str, object]) -> int:
    """Of these bytes those of replacement characters at the ends of texts."""
    return sum(3 * (len(text) - len(text.rstrip("\ufffd"))) for text in _texts(attributes))


def _texts(attributes: Mapping[str, object]) -> list[str]:
    values = [
        value
        for key, value in attributes.items()
        if key.startswith(PREFIX) and key not in _UNCOUNTED
    ]
    found = [value for value in values if isinstance(value, str)]
    for value in values:
        if isinstance(value, (list, tuple)):
            found += (chunk for chunk in value if isinstance(chunk, str))
    return found
