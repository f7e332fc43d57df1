"""OTLP JSON as exporters write it, skimmed: of the spans that nobody asks for only trace and times are read.

Typed decoding by msgspec checks what is passed over as strictly as reading it would. Without it, and for a document
of any other form, all is read in full, with the same result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Container, Iterable
from itertools import compress
from operator import not_
from typing import NamedTuple

from failgraph.readers.answers import WARNINGS
from failgraph.readers.typed import Times, Types, times_of, types

Parse = Callable[[bytes], object]
"""One JSON document of text. Raises ValueError where it is none, RecursionError where it is too deep."""

_MARK, _WARNINGS = b"nemo.gym.", WARNINGS.encode()
"""One of them stands in every span of which more than trace and times is needed."""
_ESCAPED = re.compile(rb"\\u00[2-7]")
"""ASCII that is written as an escape: the marks may be."""
_BEGINNING = b'{"traceId":"'
"""How a span begins, as exporters write it: an id of 32 digits follows."""
_FIRST_ID = slice(len(_BEGINNING), len(_BEGINNING) + 32)
_TAG, _BINARY_ID = b"\x0a\x10", slice(2, 18)
"""The same in protobuf."""
_HEX = re.compile("[0-9a-f]{32}")


class Way(NamedTuple):
    """How the spans of a pass are read."""

    parse: Parse = json.loads
    wants: Callable[[bytes], bool] = lambda _: True
    """Whether a span of OTLP protobuf is read in full."""
    pass_over: Callable[[Iterable[Times]], None] | None = None
    """Told of those that are not; None: nobody wants to know of them."""
    trace_ids: Container[str] | None = None
    """The traces of which spans are asked for; None: of all."""


IN_FULL = Way()


class Skimmed(NamedTuple):
    """A document of which only a part was read."""

    passed_over: Collection[Times]
    rest: object
    """The other spans that are asked for, as an OTLP document of their own; None where there are none."""


_NOTHING = Skimmed((), None)


class Skimmer:
    """Reads the documents of one source, twice."""

    def __init__(self) -> None:
        self._types = types()
        self._all = self._alone = True

    def first(self, pass_over: Callable[[Iterable[Times]], None]) -> Way:
        """The first pass: in full only the spans that failgraph wants to know more of."""
        return Way(self._parse, lambda span: _MARK in span or not span.startswith(_TAG), pass_over)

    def _parse(self, line: bytes) -> object:
        """A document, in full only what is asked for. Raises as `json.loads` does."""
        types = self._types
        if types is not None and not (b"\\" in line and _ESCAPED.search(line)):
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
        if self._alone:
            self._alone = len(spans) == 1 and _first_id(line) == spans[0].trace_id.encode()
        times = times_of(spans)
        warned = b"@" in line and _WARNINGS in line
        if not warned and _MARK not in line:
            return Skimmed(times, None)
        asked, document = types.part(line, lambda text: _MARK in text or (warned and _WARNINGS in text))
        return Skimmed(list(compress(times, map(not_, asked))), document)

    def second(self, trace_ids: Collection[str]) -> Way:
        """The second pass: only spans of these traces, as far as they are known without reading."""
        binary = set(map(bytes.fromhex, filter(_HEX.fullmatch, trace_ids)))
        return Way(
            self._selecting(trace_ids),
            lambda span: span[_BINARY_ID] in binary or not span.startswith(_TAG),
            trace_ids=trace_ids,
        )

    def _selecting(self, trace_ids: Iterable[str]) -> Parse:
        types = self._types
        if types is None or not self._all:
            return json.loads
        kept = {trace_id.encode() for trace_id in trace_ids}
        alone = self._alone

        def is_kept(text: bytes) -> bool:
            return text[_FIRST_ID] in kept or not text.startswith(_BEGINNING)

        def parse(line: bytes) -> object:
            if alone and _first_id(line) not in kept:
                return _NOTHING
            return Skimmed((), types.part(line, is_kept)[1])

        return parse


def _first_id(line: bytes) -> bytes:
    """The trace id of the first object of a line that begins with one."""
    at = line.find(_BEGINNING) + len(_BEGINNING)
    return line[at : at + 32]
