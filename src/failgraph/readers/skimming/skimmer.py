"""OTLP JSON as exporters write it, skimmed: of the spans that nobody asks for only trace and times are read.

Typed decoding by msgspec checks what is passed over as strictly as reading it would. Without it, and for a document
of any other form, all is read in full, with the same result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from itertools import compress
from operator import not_
from typing import NamedTuple

from failgraph.readers.skimming.single_spans import (
    BEGINNING,
    FIRST_ID,
    MARK,
    Frames,
    check_ids,
    first_id,
    is_escaped,
    is_warned,
    of_traces,
)
from failgraph.readers.skimming.typed_json import Part, Times, Types, chosen, times_of, types

Parse = Callable[[bytes], object]
"""One JSON document of text. Raises ValueError where it is none, RecursionError where it is too deep."""

_TAG, _BINARY_ID = b"\x0a\x10", slice(2, 18)
"""How a span of protobuf begins, and its trace id."""
_HEX = re.compile("[0-9a-f]{32}")


class Way(NamedTuple):
    """How the spans of a pass are read."""

    parse: Parse = json.loads
    wants: Callable[[Sequence[bytes]], Sequence[bool]] = lambda spans: [True] * len(spans)
    """Which of some spans of OTLP protobuf are read in full."""
    pass_over: Callable[[Iterable[Times]], None] | None = None
    """Told of those that are not; None: nobody wants to know of them."""
    trace_ids: Container[str] | None = None
    """The traces of which spans are asked for; None: of all."""
    lines: Callable[[Sequence[bytes]], tuple[Iterable[Times], Sequence[int]]] | None = None
    """Passes over several lines at once: of their spans the times, and which have to be read. Raises ValueError where
    that cannot be told; None: it never can."""


IN_FULL = Way()


class Skimmed(NamedTuple):
    """A document of which only a part was read."""

    spans: int
    """How many spans were passed over."""
    passed_over: Iterable[Times]
    rest: Sequence[Part]
    """The other spans that are asked for."""
    documents: int = 1
    """How many it stands for."""


_NOTHING = Skimmed(0, (), ())


class Skimmer:
    """Reads the documents of one source, twice."""

    def __init__(self) -> None:
        self._types = types()
        self._frames = None if self._types is None else Frames(self._types)
        self._all = self._alone = True

    def first(self, pass_over: Callable[[Iterable[Times]], None]) -> Way:
        """The first pass: in full only the spans that failgraph wants to know more of."""
        return Way(
            self._parse,
            lambda spans: [MARK in span or span[:2] != _TAG for span in spans],
            pass_over,
            lines=None if self._frames is None else self._frames.pass_over,
        )

    def _parse(self, line: bytes) -> object:
        """A document, in full only what is asked for. Raises as `json.loads` does."""
        types = self._types
        if types is not None and not is_escaped(line):
            try:
                return self._skimmed(line, types)
            except (ValueError, RecursionError):  # not of the one form
                pass
        self._all = False
        return json.loads(line)

    def _skimmed(self, line: bytes, types: Types) -> Skimmed:
        spans = [
            span
            for resource_spans in types.whole.decode(line).resource_spans
            for scope_spans in resource_spans.scope_spans
            for span in scope_spans.spans
        ]
        times = times_of(spans)
        written = types.written(line)
        texts = [text for _, texts in written for text in texts]
        check_ids(texts, spans)
        if self._alone and self._frames is not None:
            self._alone = len(spans) == 1 and first_id(line) == texts[0][FIRST_ID]
            if self._alone:
                self._frames.learn(line, texts[0])
        warned = is_warned(line)
        if not warned and MARK not in line:
            return Skimmed(len(spans), times, ())
        asked, parts = chosen(written, lambda text: MARK in text or (warned and is_warned(text)))
        return Skimmed(asked.count(False), compress(times, map(not_, asked)), parts)

    def second(self, trace_ids: Collection[str]) -> Way:
        """The second pass: only spans of these traces, as far as they are known without reading."""
        binary = set(map(bytes.fromhex, filter(_HEX.fullmatch, trace_ids)))
        kept = {trace_id.encode() for trace_id in trace_ids}
        types = self._types if self._all else None
        return Way(
            json.loads if types is None else self._selecting(types, kept),
            lambda spans: [span[_BINARY_ID] in binary or span[:2] != _TAG for span in spans],
            trace_ids=trace_ids,
            lines=(lambda lines: ((), of_traces(lines, kept)))
            if types is not None and self._alone
            else None,
        )

    def _selecting(self, types: Types, kept: Container[bytes]) -> Parse:
        alone = self._alone

        def is_kept(text: bytes) -> bool:
            return text[FIRST_ID] in kept or not text.startswith(BEGINNING)

        def parse(line: bytes) -> object:
            if alone and first_id(line) not in kept:
                return _NOTHING
            return Skimmed(0, (), chosen(types.written(line), is_kept)[1])

        return parse
