"""Copy the body of a response into a file, bounded in bytes and in time, also behind gzip."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator
from typing import IO

_CHUNK = 1 << 20  # bytes that are unpacked at a time, so that a small body cannot fill the memory
_GZIP = 31  # zlib's `wbits` for data with a gzip header


class BodyTooLargeError(Exception):
    """The body is larger than the limit."""


class BodyTimeoutError(Exception):
    """The body takes longer than the limit."""


class BodyDamagedError(Exception):
    """The body is not valid gzip, or ends early."""


def copy_body(
    chunks: Iterable[bytes], file: IO[bytes], max_bytes: int, deadline: float, *, is_gzip: bool
) -> int:
    """Copy a body into `file` and return its size in bytes.

    Args:
        chunks: The body as it arrives.
        file: Gets the body, unpacked, up to `max_bytes`.
        max_bytes: The largest size, after unpacking.
        deadline: The time on the monotonic clock by which it must have arrived.
        is_gzip: True if the body is compressed with gzip.

    Raises:
        BodyTooLargeError: The body is larger than `max_bytes`.
        BodyTimeoutError: The deadline has passed.
        BodyDamagedError: The gzip data is damaged.
    """
    in_time = _until(chunks, deadline)
    size = 0
    for chunk in _unpack(in_time) if is_gzip else in_time:
        file.write(chunk[: max_bytes - size])
        size += len(chunk)
        if size > max_bytes:
            raise BodyTooLargeError
    return size


def _until(chunks: Iterable[bytes], deadline: float) -> Iterator[bytes]:
    for chunk in chunks:
        if time.monotonic() > deadline:
            raise BodyTimeoutError
        yield chunk


def _unpack(chunks: Iterable[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=_GZIP)
    try:
        for chunk in chunks:
            rest = chunk
            while rest:
                if unpacker.eof:  # another gzip member follows
                    unpacker = zlib.decompressobj(wbits=_GZIP)
                yield unpacker.decompress(rest, _CHUNK)
                rest = unpacker.unused_data or unpacker.unconsumed_tail
    except zlib.error:
        raise BodyDamagedError from None
    if not unpacker.eof:
        raise BodyDamagedError
