"""A stream of text as lines, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from failgraph.readers.found import BadLines
from failgraph.readers.source import UNPACK_ERRORS

MAX_LINE = 1 << 29
"""Bytes of one line, and of one document, at most; a longer one is left out and said."""
_AT_ONCE = 1 << 16
"""Bytes of lines that are handed on together."""
_BOM = b"\xef\xbb\xbf"


def batches(stream: IO[bytes], bad: BadLines) -> Iterator[tuple[int, list[bytes]]]:
    """The lines, some at a time, with the number of the first; without a byte-order mark."""
    first, size = 1, 0
    lines: list[bytes] = []
    try:
        while line := stream.readline(MAX_LINE):
            if len(line) == MAX_LINE and not line.endswith(b"\n"):
                yield first, lines
                first, size, lines = first + len(lines) + 1, 0, []
                bad.add(f"line {first - 1} is longer than {MAX_LINE} bytes")
                while (rest := stream.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
                continue
            if first == 1 and not lines:
                line = line.removeprefix(_BOM)
            lines.append(line)
            size += len(line)
            if size >= _AT_ONCE:
                yield first, lines
                first, size, lines = first + len(lines), 0, []
    except UNPACK_ERRORS:
        yield first, lines  # what stands before the damage
        raise
    yield first, lines


def numbered(stream: IO[bytes], bad: BadLines) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, without a byte-order mark."""
    for first, lines in batches(stream, bad):
        for number, line in enumerate(lines, first):
            if line.strip():
                yield number, line
