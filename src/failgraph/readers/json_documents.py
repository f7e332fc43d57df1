"""A stream of text as JSON documents: one a line, one in all, or several, printed over many lines or not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from failgraph.readers.api_responses import is_whole
from failgraph.readers.contents import BadLines, Found
from failgraph.readers.lines import MAX_LINE, batches
from failgraph.readers.skimming.skimmer import IN_FULL, Parse, Skimmed, Way

_MAX_RETRIES = 5
"""How many documents without an end are gone behind; what follows the last of them is given up."""
_STRING = re.compile(rb'(?s)"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)')
"""A JSON string, or the beginning of one that never ends: every character of a line is looked at once."""
_SPACE = re.compile(r"[ \t\r\n]*")


def json_documents(
    stream: IO[bytes], found: Found, bad: BadLines, way: Way = IN_FULL
) -> Iterator[tuple[int, object]]:
    """Each JSON document with the number of its first line; what is broken goes into `bad`, and the rest is read."""
    lines, behind = batches(stream, bad), list[tuple[int, bytes]]()
    for _ in range(_MAX_RETRIES):
        pending = _Pending(bad, way.parse)
        for number, document in _documents(lines, pending, way):
            if isinstance(document, Skimmed):
                found.see_traces(document.documents)
            else:
                found.see(document)
            yield number, document
        # A document that never ended has swallowed what stood behind it: go on behind its first line.
        behind = pending.behind_first()
        lines = ((number, [line]) for number, line in behind)
    _Pending(bad, way.parse, behind).drop()


def _documents(
    batches: Iterable[tuple[int, list[bytes]]], pending: _Pending, way: Way
) -> Iterator[tuple[int, object]]:
    for first, lines in batches:
        together = None if pending else _together(first, lines, way)
        if together is not None:
            yield from together
            continue
        for number, line in enumerate(lines, first):
            if line.strip():
                yield from _next(number, line, pending, way.parse)


def _together(first: int, lines: Sequence[bytes], way: Way) -> list[tuple[int, object]] | None:
    """The documents of several lines, those that nobody asks for in one; None where a line is no whole document."""
    if way.lines is None:
        return None
    try:
        passed_over, others = way.lines(lines)
    except (ValueError, RecursionError):
        return None
    count = len(lines) - len(others)
    found: list[tuple[int, object]] = [(first, Skimmed(count, passed_over, (), count))]
    for at in others:
        if lines[at].strip():
            documents = _parsed(lines[at], way.parse)
            if documents is None:
                return None
            found.extend((first + at, document) for document in documents)
    return found


def _next(
    number: int, line: bytes, pending: _Pending, parse: Parse
) -> Iterator[tuple[int, object]]:
    """The documents that end with a line, if any do."""
    free = not pending
    documents = _parsed(line, parse) if free or pending.may_end_before(line) else None
    if documents is not None and (free or any(map(_is_whole, documents))):
        if not free:
            pending.drop()
        first = number
    else:
        pending.add(number, line)
        if not pending.complete():
            return
        first, documents = pending.take()
    for document in documents:
        yield first, document


def _is_whole(document: object) -> bool:
    return isinstance(document, Skimmed) or is_whole(document)


class _Pending:
    """Lines that only together may be a document."""

    def __init__(
        self, bad: BadLines, parse: Parse, lines: list[tuple[int, bytes]] | None = None
    ) -> None:
        self._bad = bad
        self._parse = parse
        self._lines = lines or []
        self._size = 0
        self._depth = 0

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, number: int, line: bytes) -> None:
        """One more line."""
        if not self._lines:
            self._depth = self._size = 0
        self._lines.append((number, line))
        self._size += len(line)
        # A JSON string cannot hold a raw line feed, so brackets can be counted line by line.
        bare = _STRING.sub(b"", line)
        self._depth += bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")

    def may_end_before(self, line: bytes) -> bool:
        """Whether `line` can be a document of its own, and so say that these lines are broken.

        In an array of documents each of them may stand on a line of its own.
        """
        first = self._lines[0][1].strip()
        begins = b"[" if first.startswith(b"[") or first.endswith(b"[") else (b"{", b"[")
        return line.startswith(begins)

    def complete(self) -> bool:
        """Whether its brackets are closed, or it grows past all measure."""
        return self._depth <= 0 or self._size > MAX_LINE

    def take(self) -> tuple[int, list[object]]:
        """The documents that the lines are, and the first line's number; none where they are broken."""
        first = self._lines[0][0]
        documents = _parsed(b"".join(line for _, line in self._lines), self._parse)
        if documents is None:
            self.drop()
        self._lines = []
        return first, documents or []

    def drop(self) -> None:
        """Give the lines up as broken."""
        if self._lines:
            first, last = self._lines[0][0], self._lines[-1][0]
            self._bad.add(
                f"line {first} is no JSON"
                if first == last
                else f"lines {first} to {last} are no JSON"
            )
        self._lines = []

    def behind_first(self) -> list[tuple[int, bytes]]:
        """Give the first line up as broken; the lines behind it."""
        _, *rest = self._lines or [(0, b"")]
        self._lines = self._lines[:1]
        self.drop()
        return rest


def _parsed(text: bytes, parse: Parse) -> list[object] | None:
    """The documents that `text` is, one behind the other; None where it is broken."""
    try:
        return [parse(text)]
    except RecursionError:
        return None
    except ValueError:
        pass
    documents, decoder = [], json.JSONDecoder()
    # A line of an array of documents ends in a comma.
    rest = text.decode("utf-8", "surrogateescape").rstrip(" \t\r\n,")
    at = _SPACE.match(rest).end()  # type: ignore[union-attr]
    while at < len(rest):
        try:
            document, end = decoder.raw_decode(rest, at)
        except (ValueError, RecursionError):
            return None
        documents.append(document)
        at = _SPACE.match(rest, end).end()  # type: ignore[union-attr]
    return documents or None
