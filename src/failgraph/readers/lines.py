"""A stream of text as lines, some at a time."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from typing import IO, cast

from failgraph.readers.contents import BadLines
from failgraph.readers.source import UNPACK_ERRORS

MAX_LINE = 1 << 29
"""Bytes of one line, and of one document, at most; a longer one is left out and said."""
_AT_ONCE = 1 << 17
"""Bytes of lines that are handed on together."""
_BOM = b"\xef\xbb\xbf"


def batches(stream: IO[bytes], bad: BadLines) -> Iterator[tuple[int, list[bytes]]]:
    """The lines, some at a time, with the number of the first; without a byte-order mark."""
    first = 1
    for lines in (
        _unpacked(stream) if isinstance(cast("object", stream), gzip.GzipFile) else _plain(stream)
    ):
        if first == 1:
            lines[0] = lines[0].removeprefix(_BOM)
        is_whole = len(lines[-1]) < MAX_LINE or lines[-1].endswith(b"\n")
        yield first, lines if is_whole else lines[:-1]
        first += len(lines)
        if not is_whole:
            bad.add(f"line {first - 1} is longer than {MAX_LINE} bytes")
            while (rest := stream.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass


def _plain(stream: IO[bytes]) -> Iterator[list[bytes]]:
    """Some lines at a time; only the last may be of `MAX_LINE` bytes, and then be cut off there."""
    while data := stream.read(_AT_ONCE):
        lines = io.BytesIO(data).readlines()
        if not data.endswith(b"\n"):
            lines[-1] += stream.readline(MAX_LINE - len(lines[-1]))
        yield lines


def _unpacked(stream: IO[bytes]) -> Iterator[list[bytes]]:
    """The same, line by line up to where the data is damaged; what was read before goes first."""
    size = 0
    lines: list[bytes] = []
    try:
        while line := stream.readline(MAX_LINE):
            lines.append(line)
            size += len(line)
            if size >= _AT_ONCE:
                yield lines
                size, lines = 0, []
    except UNPACK_ERRORS:
        if lines:
            yield lines
        raise
    if lines:
        yield lines


def numbered(stream: IO[bytes], bad: BadLines) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, without a byte-order mark."""
    for first, lines in batches(stream, bad):
        for number, line in enumerate(lines, first):
            if line.strip():
                yield number, line
