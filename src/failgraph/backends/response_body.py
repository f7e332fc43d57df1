"""The body of an answer, into a file: bounded in bytes and in time, also behind gzip."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator
from typing import IO

_CHUNK = 1 << 20
"""Bytes that are unpacked at a time, so that a small body cannot fill the memory."""
_GZIP = 31
"""What zlib calls its own form with gzip's head around it."""


class OverlongError(Exception):
    """There is more of it than may be."""


class OverdueError(Exception):
    """It takes longer than it may."""


class DamagedError(Exception):
    """It is not packed as it says, or breaks off."""


def write(
    chunks: Iterable[bytes], file: IO[bytes], most: int, until: float, *, packed: bool
) -> int:
    """Write a body into `file`, gunzipped where it is `packed`; how many bytes.

    Raises OverlongError past `most` bytes and OverdueError past `until` on the monotonic clock.
    """
    size = 0
    for chunk in _unpacked(_in_time(chunks, until)) if packed else _in_time(chunks, until):
        file.write(chunk[: most - size])
        size += len(chunk)
        if size > most:
            raise OverlongError
    return size


def _in_time(chunks: Iterable[bytes], until: float) -> Iterator[bytes]:
    for chunk in chunks:
        if time.monotonic() > until:
            raise OverdueError
        yield chunk


def _unpacked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    unpack = zlib.decompressobj(wbits=_GZIP)
    try:
        for chunk in chunks:
            rest = chunk
            while rest:
                if unpack.eof:  # another member
                    unpack = zlib.decompressobj(wbits=_GZIP)
                yield unpack.decompress(rest, _CHUNK)
                rest = unpack.unused_data or unpack.unconsumed_tail
    except zlib.error:
        raise DamagedError from None
    if not unpack.eof:
        raise DamagedError
