"""OTLP JSON as exporters write it, skimmed: of the spans that nobody asks for only trace and times are read.

Typed decoding by msgspec checks what is passed over as strictly as reading it would. Without it, and for a document
of any other form, all is read in full, with the same result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from functools import lru_cache
from itertools import compress
from operator import not_
from typing import Annotated, Any, Literal, NamedTuple

from failgraph.readers.answers import WARNINGS
from failgraph.readers.parts import decimal
from failgraph.readers.span import KINDS

Parse = Callable[[bytes], object]
"""One JSON document of text. Raises ValueError where it is none, RecursionError where it is too deep."""

MARK, _WARNINGS = b"nemo.gym.", WARNINGS.encode()
"""One of them stands in every span of which more than trace and times is needed."""
_ESCAPED = re.compile(rb"\\u00[2-7]")
"""ASCII that is written as an escape: the marks may be."""
_BEGINNING = b'{"traceId":"'
"""How a span begins, as exporters write it: an id of 32 digits follows."""
_FIRST_ID = slice(len(_BEGINNING), len(_BEGINNING) + 32)
_TAG, _BINARY_ID = b"\x0a\x10", slice(2, 18)
"""The same in protobuf."""
_HEX = re.compile("[0-9a-f]{32}")


Times = tuple[str | bytes, int, int]
"""Of a span of which nothing else is read: its trace id, in hex or as bytes, start and end, in ns since the epoch."""


class Way(NamedTuple):
    """How the spans of a pass are read."""

    parse: Parse = json.loads
    wants: Callable[[Sequence[bytes]], Sequence[bool]] = lambda spans: [True] * len(spans)
    """Which of some spans of OTLP protobuf are read in full."""
    pass_over: Callable[[Iterable[Times]], None] | None = None
    """Told of those that are not; None: nobody wants to know of them."""
    trace_ids: Container[str] | None = None
    """The traces of which spans are asked for; None: of all."""


IN_FULL = Way()


class Skimmed(NamedTuple):
    """A document of which only a part was read."""

    passed_over: Collection[Any]
    """Spans with `trace_id`, `start` and `end`, the last two as text."""
    rest: object
    """The other spans that are asked for, as an OTLP document of their own; None where there are none."""

    def times(self) -> Iterable[Times]:
        """Of the spans that were passed over."""
        return ((span.trace_id, decimal(span.start), decimal(span.end)) for span in self.passed_over)


_NOTHING = Skimmed((), None)


class Skimmer:
    """Reads the documents of one source, twice."""

    def __init__(self) -> None:
        self._types = _types()
        self._all = self._alone = True

    def first(self, pass_over: Callable[[Iterable[Times]], None]) -> Way:
        """The first pass: in full only the spans that failgraph wants to know more of."""
        return Way(self._parse, lambda spans: [MARK in span or span[:2] != _TAG for span in spans], pass_over)

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

    def _skimmed(self, line: bytes, types: _Types) -> Skimmed:
        spans = [
            span
            for resource_spans in types.whole.decode(line).resource_spans
            for scope_spans in resource_spans.scope_spans
            for span in scope_spans.spans
        ]
        if self._alone:
            self._alone = len(spans) == 1 and _first_id(line) == spans[0].trace_id.encode()
        warned = b"@" in line and _WARNINGS in line
        if not warned and MARK not in line:
            return Skimmed(spans, None)
        asked, document = types.part(line, lambda text: MARK in text or (warned and _WARNINGS in text))
        return Skimmed(list(compress(spans, map(not_, asked))), document)

    def second(self, trace_ids: Collection[str]) -> Way:
        """The second pass: only spans of these traces, as far as they are known without reading."""
        binary = set(map(bytes.fromhex, filter(_HEX.fullmatch, trace_ids)))
        return Way(
            self._selecting(trace_ids),
            lambda spans: [span[_BINARY_ID] in binary or span[:2] != _TAG for span in spans],
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


class _Types(NamedTuple):
    whole: Any
    parts: Any

    def part(self, line: bytes, is_wanted: Callable[[bytes], bool]) -> tuple[Sequence[bool], object]:
        """Of each span whether it is wanted, and a document of those that are."""
        flags: list[bool] = []
        found: list[object] = []
        for resource_spans in self.parts.decode(line).resource_spans:
            texts = [bytes(span) for scope_spans in resource_spans.scope_spans for span in scope_spans.spans]
            chosen = list(map(is_wanted, texts))
            flags += chosen
            if any(chosen):
                spans = json.loads(b"[" + b",".join(compress(texts, chosen)) + b"]")
                resource = json.loads(bytes(resource_spans.resource))
                found.append({"resource": resource, "scopeSpans": [{"spans": spans}]})
        return flags, {"resourceSpans": found} if found else None


@lru_cache
def _types() -> _Types | None:
    """Decoders of the one form that is skimmed: its names, and what of it must be of which type; None without msgspec.

    What is not named here is passed over.
    """
    try:
        from msgspec import Meta, Raw, defstruct, field
    except ImportError:
        return None

    def id_of(size: int) -> Any:
        return Annotated[str, Meta(pattern=rf"^(?!0+\Z)[0-9a-f]{{{2 * size}}}\Z")]

    # Without cycles, and gone with their line: the collector of garbage need not look at them.
    anything, named = defstruct("Anything", [], gc=False), defstruct("Named", [("name", str, "")], gc=False)
    count = Annotated[int, Meta(ge=0, le=2**31)]
    names = [f"SPAN_KIND_{kind}" for kind in KINDS[1:]]
    kinds: Any = Literal.__getitem__((*range(len(KINDS)), *names))
    span = defstruct(
        "Span",
        [
            ("trace_id", id_of(16), field(name="traceId")),
            ("span_id", id_of(8), field(name="spanId")),
            ("start", str, field(name="startTimeUnixNano")),
            ("end", str, field(name="endTimeUnixNano")),
            ("name", str, ""),
            ("kind", kinds, 0),
            ("attributes", list[anything], ()),  # type: ignore[valid-type]
            ("events", list[named], ()),  # type: ignore[valid-type]
            ("status", anything, None),
            ("dropped_events", count, field(name="droppedEventsCount", default=0)),
            ("dropped_attributes", count, field(name="droppedAttributesCount", default=0)),
        ],
        gc=False,
    )
    resource = defstruct("Resource", [("attributes", list[anything], ())])  # type: ignore[valid-type]
    return _Types(_decoder(span, resource), _decoder(Raw, Raw))


def _decoder(span: Any, resource: Any) -> Any:
    """Of documents with such spans and such resources."""
    from msgspec import defstruct, field, json as typed_json

    scope_spans = defstruct("ScopeSpans", [("spans", list[span], ())])
    resource_spans: Any = defstruct(
        "ResourceSpans",
        [
            ("resource", resource),
            ("scope_spans", list[scope_spans], field(name="scopeSpans")),  # type: ignore[valid-type]
            ("schema_url", str, field(name="schemaUrl", default="")),
        ],
        forbid_unknown_fields=True,
    )
    document: Any = defstruct(
        "Document",
        [("resource_spans", list[resource_spans], field(name="resourceSpans"))],
        forbid_unknown_fields=True,
    )
    return typed_json.Decoder(document)
