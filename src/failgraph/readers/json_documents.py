"""Split a stream of text into JSON documents: one per line, or one or more over many lines each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import IO

from failgraph.readers.api_responses import is_complete
from failgraph.readers.lines import MAX_LINE, LineBatch, line_batches
from failgraph.readers.skimming.skimmer import READ_ALL, Parse, ReadPlan, SkimmedDocument
from failgraph.readers.summary import INCOMPLETE, SourceSummary

_MAX_RETRIES = 5  # documents without an end to recover from; what follows the last is given up
# A JSON string, or the beginning of one without an end. Looks at every character of a line once.
_STRING = re.compile(rb'(?s)"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)')
_SPACE = re.compile(r"[ \t\r\n]*")


def json_documents(
    stream: IO[bytes], summary: SourceSummary, plan: ReadPlan = READ_ALL
) -> Iterator[tuple[int, object]]:
    """Yield each JSON document of a stream, after the number of its first line.

    A broken document is added to the summary, and the rest is read.
    """
    batches: Iterable[LineBatch] = line_batches(stream, summary.add_bad_line)
    rest: list[tuple[int, bytes]] = []
    for _ in range(_MAX_RETRIES):
        pending = _PendingLines(summary, plan.parse)
        for number, document in _documents(batches, pending, plan):
            if isinstance(document, SkimmedDocument):
                summary.add_trace_documents(document.documents)
            else:
                summary.add_document(document)
            yield number, document
        # A document that never ended has swallowed the lines behind it: read on after its first.
        rest = pending.drop_first()
        batches = (LineBatch(number, [line]) for number, line in rest)
    _PendingLines(summary, plan.parse, rest).drop()


def _documents(
    batches: Iterable[LineBatch], pending: _PendingLines, plan: ReadPlan
) -> Iterator[tuple[int, object]]:
    for batch in batches:
        skimmed = None if pending else _skim_batch(batch, plan)
        if skimmed is not None:
            yield from skimmed
            continue
        for number, line in enumerate(batch.lines, batch.first):
            if line.strip():
                yield from _add_line(number, line, pending, plan.parse)


def _skim_batch(batch: LineBatch, plan: ReadPlan) -> list[tuple[int, object]] | None:
    """Return the documents of several lines, with one for all skipped ones.

    Returns None if the plan cannot skim these lines, or one of them is not a whole document.
    """
    if plan.skim_lines is None:
        return None
    first, lines = batch
    try:
        skimmed = plan.skim_lines(lines)
    except (ValueError, RecursionError):
        return None
    count = len(lines) - len(skimmed.unread)
    found: list[tuple[int, object]] = [(first, SkimmedDocument(count, skimmed.times, (), count))]
    for index in skimmed.unread:
        if lines[index].strip():
            documents = _parsed(lines[index], plan.parse)
            if documents is None:
                return None
            found.extend((first + index, document) for document in documents)
    return found


def _add_line(
    number: int, line: bytes, pending: _PendingLines, parse: Parse
) -> Iterator[tuple[int, object]]:
    """Yield the documents that end with this line, if any."""
    starts_document = not pending
    documents = None
    if starts_document or pending.may_end_before(line):
        documents = _parsed(line, parse)
    if documents is not None and (starts_document or any(map(_is_complete, documents))):
        if not starts_document:
            pending.drop()
        first = number
    else:
        pending.add(number, line)
        if not pending.is_complete():
            return
        first, documents = pending.take()
    for document in documents:
        yield first, document


def _is_complete(document: object) -> bool:
    return isinstance(document, SkimmedDocument) or is_complete(document)


class _PendingLines:
    """Lines that may be one document together."""

    def __init__(
        self, summary: SourceSummary, parse: Parse, lines: list[tuple[int, bytes]] | None = None
    ) -> None:
        self._summary = summary
        self._parse = parse
        self._lines = lines or []
        self._size = 0
        self._depth = 0

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, number: int, line: bytes) -> None:
        """Add a line."""
        if not self._lines:
            self._depth = self._size = 0
        self._lines.append((number, line))
        self._size += len(line)
        # A JSON string cannot hold a raw line feed, so brackets can be counted line by line.
        self._depth += _open_brackets(line)

    def may_end_before(self, line: bytes) -> bool:
        """Return True if `line` may be a document by itself, so that the pending lines are broken.

        Inside an array of documents, each document may be on its own line: then only the beginning
        of another array ends it.
        """
        first = self._lines[0][1].strip()
        begins = b"[" if first.startswith(b"[") or first.endswith(b"[") else (b"{", b"[")
        return line.startswith(begins)

    def is_complete(self) -> bool:
        """Return True if all brackets are closed, or the document would be too long."""
        return self._depth <= 0 or self._size > MAX_LINE

    def take(self) -> tuple[int, list[object]]:
        """Return the number of the first line, and the documents, empty if the lines are broken."""
        first = self._lines[0][0]
        documents = _parsed(b"".join(line for _, line in self._lines), self._parse)
        if documents is None:
            self.drop()
        self._lines = []
        return first, documents or []

    def drop(self) -> None:
        """Drop the lines, and report them as broken."""
        if self._lines:
            first, last = self._lines[0][0], self._lines[-1][0]
            lines = f"line {first} is" if first == last else f"lines {first} to {last} are"
            is_open = sum(_open_brackets(line) for _, line in self._lines) > 0
            self._summary.add_bad_line(f"{lines} {INCOMPLETE if is_open else 'not JSON'}")
        self._lines = []

    def drop_first(self) -> list[tuple[int, bytes]]:
        """Drop the first line, and report it as broken. Return the other lines."""
        rest = self._lines[1:]
        self._lines = self._lines[:1]
        self.drop()
        return rest


def _open_brackets(line: bytes) -> int:
    """Return how many more brackets a line opens than it closes."""
    bare = _STRING.sub(b"", line)
    return bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")


def _parsed(text: bytes, parse: Parse) -> list[object] | None:
    """Return the documents in `text`, one behind the other, or None if it is broken."""
    try:
        return [parse(text)]
    except RecursionError:
        return None
    except ValueError:
        return _parsed_sequence(text)


def _parsed_sequence(text: bytes) -> list[object] | None:
    documents, decoder = [], json.JSONDecoder()
    # A line inside an array of documents ends in a comma.
    rest = text.decode("utf-8", "surrogateescape").rstrip(" \t\r\n,")
    position = _skip_space(rest, 0)
    while position < len(rest):
        try:
            document, end = decoder.raw_decode(rest, position)
        except (ValueError, RecursionError):
            return None
        documents.append(document)
        position = _skip_space(rest, end)
    return documents or None


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return position if match is None else match.end()
