"""Protobuf without its schema: a stream of fields, read one at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, NamedTuple

MAX_MESSAGE = 1 << 29


class DamagedError(Exception):
    """What follows is no protobuf, or ends in the middle."""


class Field(NamedTuple):
    """A field of a message: its tag (number and wire type), and its bytes or, of a varint, its value."""

    tag: int
    data: bytes = b""
    value: int = 0


def fields(stream: IO[bytes]) -> Iterator[Field]:
    """Each field of a message. Raises DamagedError where it is damaged."""
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
    """The tag of each field of `message`, without its content, up to where it is damaged."""
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
    """How many bytes the field of this tag has."""
    wire = tag & 7
    size = {1: 8, 5: 4}.get(wire)
    if size is None:
        size = _varint(stream) if wire == 2 else None
    if size is None or size >= MAX_MESSAGE:
        raise DamagedError
    return size


def _varint(stream: IO[bytes], *, may_end: bool = False) -> int | None:
    """The next varint; None where the stream ends before it and `may_end`."""
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
