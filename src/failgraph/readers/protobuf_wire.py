"""Read protobuf without a schema: a stream of fields, one at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, NamedTuple

MAX_MESSAGE = 1 << 29  # bytes; anything longer is taken for damage


class DamagedError(Exception):
    """The rest of the stream is not protobuf, or ends in the middle of a field."""


class Field(NamedTuple):
    """A field of a message.

    Attributes:
        tag: Field number and wire type.
        data: The bytes of the field; empty for a varint.
        value: The value of a varint.
    """

    tag: int
    data: bytes = b""
    value: int = 0


def fields(stream: IO[bytes]) -> Iterator[Field]:
    """Yield each field of a message.

    Raises:
        DamagedError: Where the message is damaged.
    """
    while (tag := _varint(stream, may_end=True)) is not None:
        if tag & 7 == 0:
            yield Field(tag, value=_varint(stream) or 0)
        else:
            size = _size(stream, tag)
            data = stream.read(size)
            if len(data) < size:
                raise DamagedError
            yield Field(tag, data)


def tags(message: bytes) -> Iterator[int]:
    """Yield the tag of each field of a message, up to where it is damaged."""
    stream = io.BytesIO(message)
    try:
        while (tag := _varint(stream, may_end=True)) is not None:
            if tag & 7 == 0:
                _varint(stream)
            else:
                stream.seek(_size(stream, tag), io.SEEK_CUR)
            yield tag
    except DamagedError:
        return


def _size(stream: IO[bytes], tag: int) -> int:
    """Return the number of bytes of the field with this tag."""
    wire_type = tag & 7
    size: int | None = {1: 8, 5: 4}.get(wire_type)
    if wire_type == 2:
        size = _varint(stream)
    if size is None or size >= MAX_MESSAGE:
        raise DamagedError
    return size


def _varint(stream: IO[bytes], *, may_end: bool = False) -> int | None:
    """Return the next varint, or None if `may_end` is true and the stream ends before it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = stream.read(1)
        if not byte:
            if may_end and not shift:
                return None
            raise DamagedError
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    raise DamagedError
