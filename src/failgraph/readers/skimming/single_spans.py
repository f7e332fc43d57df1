"""Lines of one span each. What stands around it is looked at once, since in the lines of one process it is the same.

So a span that nobody asks for costs what decoding it by msgspec does, and little more.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import Any

from failgraph.readers.api_responses import WARNINGS
from failgraph.readers.skimming.typed_json import Times, Types, times_of

BEGINNING = b'{"traceId":"'
"""How a span begins, as exporters write it: an id of 32 digits follows."""
FIRST_ID = slice(len(BEGINNING), len(BEGINNING) + 32)
MARK, _WARNINGS = b"nemo.gym.", WARNINGS.encode()
"""One of them stands in every span of which more than trace and times is needed."""
_ESCAPED = re.compile(rb"\\u00[2-7]")
"""ASCII that is written as an escape: the marks may be."""
_MAX_FRAMES = 256
_NO_LINE = b"\n\n"
"""Begins no line."""


def is_warned(text: bytes) -> bool:
    """Whether Jaeger may warn in it of what it gives."""
    return b"@" in text and _WARNINGS in text


def is_escaped(text: bytes) -> bool:
    """Whether a mark may be escaped in it."""
    return b"\\" in text and _ESCAPED.search(text) is not None


def first_id(line: bytes) -> bytes:
    """The trace id of the first span of a line, where it is written as exporters do."""
    size = len(_head(line))
    return line[size : size + 32]


def _head(line: bytes) -> bytes:
    """A line up to the trace id of its first span; the whole of one that has none."""
    at = line.find(BEGINNING)
    return line if at < 0 else line[: at + len(BEGINNING)]


def check_ids(texts: Sequence[bytes], spans: Sequence[Any]) -> None:
    """Raises ValueError where a span begins with a trace id and has another: JSON may name one twice."""
    if (
        b"".join([text[FIRST_ID] for text in texts])
        == "".join([span.trace_id for span in spans]).encode()
    ):
        return
    for text, span in zip(texts, spans, strict=True):
        if text.startswith(BEGINNING) and text[FIRST_ID] != span.trace_id.encode():
            raise ValueError("a trace id is not the first")


def of_traces(lines: Sequence[bytes], trace_ids: Container[bytes]) -> list[int]:
    """Which lines are of these traces, by `first_id`."""
    found: list[int] = []
    head, size = _NO_LINE, 0
    for at, line in enumerate(lines):
        if not line.startswith(head):
            head = _head(line)
            size = len(head)
        if line[size : size + 32] in trace_ids:
            found.append(at)
    return found


class Frames:
    """What stands around the spans of lines with one span each."""

    def __init__(self, types: Types) -> None:
        self._types = types
        self._tails: dict[bytes, bytes | None] = {}
        """What follows a span, by what stands before its trace id; None where that was seen but once, or is odd."""

    def learn(self, line: bytes, span: bytes) -> None:
        """Take in what stands around the only span of a line of the one form."""
        head = _head(line)
        if head not in self._tails:
            if len(self._tails) == _MAX_FRAMES:
                self._tails.clear()
            self._tails[head] = None
        elif self._tails[head] is None:
            before = head.removesuffix(BEGINNING)
            tail = line[len(before) + len(span) :]
            # The span stands between the two, rather than elsewhere in them: without it they hold none.
            if before + span + tail == line and not any(
                texts for _, texts in self._types.written(before + tail)
            ):
                self._tails[head] = tail

    def pass_over(self, lines: Sequence[bytes]) -> tuple[Iterator[Times], list[int]]:
        """Of spans of which no more is needed the times, and which lines have to be read.

        Raises ValueError where that cannot be told of several at once.
        """
        texts: list[bytes] = []
        others: list[int] = []
        head, tail, start, stop = _NO_LINE, None, 0, 0
        for at, line in enumerate(lines):
            if not line.startswith(head):
                head = _head(line)
                tail = self._tails.get(head)
                start, stop = len(head) - len(BEGINNING), -len(tail or b"")
            text = line[start:stop]
            if tail is not None and line.endswith(tail) and MARK not in text:
                texts.append(text)
            else:
                others.append(at)
        if is_warned(together := b"".join(texts)) or is_escaped(together):
            raise ValueError("there may be marks of another kind")
        spans = list(map(self._types.span.decode, texts))
        check_ids(texts, spans)
        return times_of(spans), others
