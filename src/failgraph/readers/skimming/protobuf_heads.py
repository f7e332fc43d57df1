"""Read ids and times of many protobuf spans at once.

One parse of a message yields only the first fields of its spans. Serialized again, those of usual
spans are rows of one size with the same bytes between ids and times, which `struct` unpacks. No
object is made for a span.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from itertools import repeat

from failgraph.readers.skimming.protobuf_types import message_classes
from failgraph.traces.spans import KINDS

# A span in its `ScopeSpans`: trace id, span id and kind, start and end.
_ROW = struct.Struct("<4x16s12x1xQ1xQ")
# Tags and sizes between them, by their position in a row.
_FIXED = {0: 0x12, 1: 48, 2: 0x0A, 3: 16, 20: 0x12, 21: 8, 30: 0x30, 32: 0x39, 41: 0x41}
_KIND = 31  # position of the kind in a row
_MIN_SPANS = 16  # below this number making rows costs more than it saves
_ZERO_IDS = (b"\x0a\x10" + bytes(16), b"\x12\x08" + bytes(8))


def span_rows(message: bytes, count: int) -> Iterable[bytes]:
    """Return the rows of each `ScopeSpans` of a `ResourceSpans`.

    Args:
        message: A serialized `ResourceSpans`.
        count: Number of its spans.

    Returns:
        The rows of one `ScopeSpans` after the other, or endless empty ones if the message is
        damaged or has too few spans.
    """
    from google.protobuf.message import DecodeError

    if count < _MIN_SPANS:
        return repeat(b"")
    try:
        heads = message_classes().resource_heads.FromString(message)
    except DecodeError:
        return repeat(b"")
    heads.DiscardUnknownFields()
    return [scope.SerializeToString() for scope in heads.scope_spans]


def are_usual(rows: bytes, count: int) -> bool:
    """Return True if these are the rows of `count` spans with valid ids, a kind and times."""
    return (
        len(rows) == count * _ROW.size
        and all(
            rows[position :: _ROW.size] == bytes((byte,)) * count
            for position, byte in _FIXED.items()
        )
        and max(rows[_KIND :: _ROW.size], default=0) < len(KINDS)
        and not any(zero_id in rows for zero_id in _ZERO_IDS)
    )


def row_times(rows: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Return trace id, start and end of each span, given usual rows."""
    return _ROW.iter_unpack(rows)
