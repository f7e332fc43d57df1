"""Ids and times of many spans of protobuf at once.

One parse of a message gives the beginnings of all its spans. Written out again, those of usual spans are rows of one
size with the same bytes between ids and times, which `struct` takes apart; no object is made for a span.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from itertools import repeat

from failgraph.readers.skimming.protobuf_types import types
from failgraph.traces.spans import KINDS

_ROW = struct.Struct("<4x16s12x1xQ1xQ")
"""A span in its `ScopeSpans`: trace id, span id and kind, start and end."""
_BETWEEN = {0: 0x12, 1: 48, 2: 0x0A, 3: 16, 20: 0x12, 21: 8, 30: 0x30, 32: 0x39, 41: 0x41}
"""Tags and sizes, by their places in a row."""
_KIND = 31
_MANY = 16
"""As many spans are worth more than what it costs to make rows of them."""
_ZERO_IDS = (b"\x0a\x10" + bytes(16), b"\x12\x08" + bytes(8))


def rows_of(message: bytes, count: int) -> Iterable[bytes]:
    """Of each `ScopeSpans` of a `ResourceSpans` with `count` spans the rows; none where they are few, or damaged."""
    from google.protobuf.message import DecodeError

    if count < _MANY:
        return repeat(b"")
    try:
        beginnings = types().beginnings.FromString(message)
    except DecodeError:
        return repeat(b"")
    beginnings.DiscardUnknownFields()
    return [scope.SerializeToString() for scope in beginnings.scope_spans]


def are_usual(rows: bytes, count: int) -> bool:
    """Whether they are the rows of `count` spans with usable ids, a kind and times."""
    return (
        len(rows) == count * _ROW.size
        and all(rows[at :: _ROW.size] == bytes((byte,)) * count for at, byte in _BETWEEN.items())
        and max(rows[_KIND :: _ROW.size], default=0) < len(KINDS)
        and not any(zero in rows for zero in _ZERO_IDS)
    )


def times(rows: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Trace id, start and end of each span, of rows that are usual."""
    return _ROW.iter_unpack(rows)
