"""Skim lines of one span each: what surrounds the span is the same in many lines, and checked once.

A skipped span then costs little more than decoding it with msgspec.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import Any, NamedTuple

from failgraph.readers.api_responses import WARNINGS
from failgraph.readers.skimming.typed_json import JsonDecoders, SpanTimes, span_times

SPAN_START = b'{"traceId":"'  # how exporters begin a span; an id of 32 digits follows
FIRST_ID = slice(len(SPAN_START), len(SPAN_START) + 32)
# Every span that is needed in full contains one of these two.
GYM_PREFIX = b"nemo.gym."
_WARNINGS = WARNINGS.encode()
_ESCAPED_ASCII = re.compile(rb"\\u00[2-7]")
_MAX_FRAMES = 256
_NO_LINE = b"\n\n"  # no line begins with this


class SkimmedLines(NamedTuple):
    """What skimming several lines leaves to do.

    Attributes:
        times: The skipped spans.
        unread: Indexes of the lines that must be parsed.
    """

    times: Iterable[SpanTimes]
    unread: Sequence[int]


def has_warnings(text: bytes) -> bool:
    """Return True if the text may contain a warning of Jaeger."""
    return b"@" in text and _WARNINGS in text


def has_escapes(text: bytes) -> bool:
    """Return True if the text may contain an escaped ASCII character, which would hide a prefix."""
    return b"\\" in text and _ESCAPED_ASCII.search(text) is not None


def first_trace_id(line: bytes) -> bytes:
    """Return the trace id of the first span of a line, if it is written as exporters do."""
    size = len(_head(line))
    return line[size : size + 32]


def _head(line: bytes) -> bytes:
    """Return a line up to the trace id of its first span, or the whole line if it has none."""
    position = line.find(SPAN_START)
    return line if position < 0 else line[: position + len(SPAN_START)]


def check_first_ids(texts: Sequence[bytes], spans: Sequence[Any]) -> None:
    """Check that the trace id at the beginning of each text is the one that was decoded.

    Raises:
        ValueError: If it is not: JSON may repeat a key, and the last one counts.
    """
    first_ids = b"".join([text[FIRST_ID] for text in texts])
    if first_ids == "".join([span.trace_id for span in spans]).encode():
        return
    for text, span in zip(texts, spans, strict=True):
        if text.startswith(SPAN_START) and text[FIRST_ID] != span.trace_id.encode():
            raise ValueError("repeated trace id")


def lines_of_traces(lines: Sequence[bytes], trace_ids: Container[bytes]) -> list[int]:
    """Return the indexes of the lines whose `first_trace_id` is one of these."""
    indexes: list[int] = []
    head, size = _NO_LINE, 0
    for index, line in enumerate(lines):
        if not line.startswith(head):
            head = _head(line)
            size = len(head)
        if line[size : size + 32] in trace_ids:
            indexes.append(index)
    return indexes


class LineFrames:
    """Remember what surrounds the only span of a line, to skip later lines without parsing them."""

    def __init__(self, decoders: JsonDecoders) -> None:
        self._decoders = decoders
        # The text after a span by the text before its trace id; None if that was seen only once,
        # or is unusual.
        self._tails: dict[bytes, bytes | None] = {}

    def learn(self, line: bytes, span: bytes) -> None:
        """Remember what surrounds the only span of a line that the decoders accept."""
        head = _head(line)
        if head not in self._tails:
            if len(self._tails) == _MAX_FRAMES:
                self._tails.clear()
            self._tails[head] = None
        elif self._tails[head] is None:
            before = head.removesuffix(SPAN_START)
            tail = line[len(before) + len(span) :]
            # Without the span the line must hold none, or the span is not where it seems to be.
            if before + span + tail == line and not any(
                texts for _, texts in self._decoders.raw_spans(before + tail)
            ):
                self._tails[head] = tail

    def skim(self, lines: Sequence[bytes]) -> SkimmedLines:
        """Skip the lines with a known frame whose span is not needed in full.

        Raises:
            ValueError: If one of the spans may be needed, or is invalid.
        """
        texts: list[bytes] = []
        unread: list[int] = []
        head, tail, start, stop = _NO_LINE, None, 0, 0
        for index, line in enumerate(lines):
            if not line.startswith(head):
                head = _head(line)
                tail = self._tails.get(head)
                start, stop = len(head) - len(SPAN_START), -len(tail or b"")
            text = line[start:stop]
            if tail is not None and line.endswith(tail) and GYM_PREFIX not in text:
                texts.append(text)
            else:
                unread.append(index)
        together = b"".join(texts)
        if has_warnings(together) or has_escapes(together):
            raise ValueError("warnings or escapes")
        spans = list(map(self._decoders.span.decode, texts))
        check_first_ids(texts, spans)
        return SkimmedLines(span_times(spans), unread)
