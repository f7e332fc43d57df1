"""Split a stream of text into lines, many at a time."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple, cast

from failgraph.readers.source import GZIP_ERRORS

MAX_LINE = 1 << 29  # bytes of one line and of one document; a longer one is left out
_BATCH_SIZE = 1 << 17  # bytes of lines that are yielded together
_BOM = b"\xef\xbb\xbf"


class LineBatch(NamedTuple):
    """Consecutive lines.

    Attributes:
        first: Number of the first line, from 1.
        lines: With their line ends.
    """

    first: int
    lines: list[bytes]


def line_batches(stream: IO[bytes], add_problem: Callable[[str], object]) -> Iterator[LineBatch]:
    """Yield the lines of a stream, without a byte-order mark.

    Args:
        stream: The text, plain or a `GzipFile`.
        add_problem: Called for each line that is too long.
    """
    first = 1
    is_gzip = isinstance(cast("object", stream), gzip.GzipFile)
    for lines in _gzip_batches(stream) if is_gzip else _plain_batches(stream):
        if first == 1:
            lines[0] = lines[0].removeprefix(_BOM)
        is_complete = len(lines[-1]) < MAX_LINE or lines[-1].endswith(b"\n")
        yield LineBatch(first, lines if is_complete else lines[:-1])
        first += len(lines)
        if not is_complete:
            add_problem(f"line {first - 1} is longer than {MAX_LINE} bytes")
            while (rest := stream.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass


def numbered_lines(
    stream: IO[bytes], add_problem: Callable[[str], object]
) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not blank, with its number. Arguments as for `line_batches`."""
    for batch in line_batches(stream, add_problem):
        for number, line in enumerate(batch.lines, batch.first):
            if line.strip():
                yield number, line


def _plain_batches(stream: IO[bytes]) -> Iterator[list[bytes]]:
    """Yield lines. Only the last one of a batch may reach `MAX_LINE` bytes, and is cut there."""
    while data := stream.read(_BATCH_SIZE):
        lines = io.BytesIO(data).readlines()
        if not data.endswith(b"\n"):
            lines[-1] += stream.readline(MAX_LINE - len(lines[-1]))
        yield lines


def _gzip_batches(stream: IO[bytes]) -> Iterator[list[bytes]]:
    """Yield lines. Where the data is damaged, yield the lines before that, then raise."""
    size = 0
    lines: list[bytes] = []
    try:
        while line := stream.readline(MAX_LINE):
            lines.append(line)
            size += len(line)
            if size >= _BATCH_SIZE:
                yield lines
                size, lines = 0, []
    except GZIP_ERRORS:
        if lines:
            yield lines
        raise
    if lines:
        yield lines
