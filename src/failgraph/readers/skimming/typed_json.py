"""Decode the one form of OTLP JSON that exporters write, with msgspec.

The types name what must have which type. Everything else is skipped, but checked as strictly as
`json.loads` would.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress
from typing import Annotated, Any, Literal, NamedTuple

from failgraph.traces.spans import KINDS

SpanTimes = tuple[str | bytes, int, int]
"""A skipped span: its trace id in hex or as bytes, its start and end in ns since the epoch."""

RawResourceSpans = tuple[bytes, list[bytes]]
"""A resource and its spans, each as JSON text."""

ResourceSpans = tuple[bytes, list[object]]
"""A resource as JSON text, and parsed spans of it."""

_DIGITS = b"0123456789abcdef"
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16


class JsonDecoders(NamedTuple):
    """Decoders that raise ValueError for any other form of document.

    Attributes:
        document: Decodes a document, and of each span what `span_times` needs.
        raw_document: Decodes a document, but leaves each resource and each span as JSON text.
        span: Decodes a span alone, as `document` does.
    """

    document: Any
    raw_document: Any
    span: Any

    def raw_spans(self, line: bytes) -> list[RawResourceSpans]:
        """Return the resources of a document with their spans, as JSON text."""
        return [
            (
                bytes(resource_spans.resource),
                [
                    bytes(span)
                    for scope_spans in resource_spans.scope_spans
                    for span in scope_spans.spans
                ],
            )
            for resource_spans in self.raw_document.decode(line).resource_spans
        ]


class SelectedSpans(NamedTuple):
    """Result of `select_spans`.

    Attributes:
        is_selected: For each span of the document, in its order.
        resources: The selected spans, parsed.
    """

    is_selected: list[bool]
    resources: list[ResourceSpans]


@lru_cache(maxsize=256)
def parsed_resource(text: bytes) -> object:
    """Parse a resource. Raises ValueError if it is not JSON."""
    return json.loads(text)


def select_spans(
    raw: Iterable[RawResourceSpans], is_wanted: Callable[[bytes], bool]
) -> SelectedSpans:
    """Parse the wanted spans of a document.

    Raises:
        ValueError: If one of them, or its resource, is not JSON.
    """
    is_selected: list[bool] = []
    resources: list[ResourceSpans] = []
    for resource, texts in raw:
        wanted = list(map(is_wanted, texts))
        is_selected += wanted
        if any(wanted):
            parsed_resource(resource)  # raises here, while the document can still be read in full
            spans = json.loads(b"[" + b",".join(compress(texts, wanted)) + b"]")
            resources.append((resource, spans))
    return SelectedSpans(is_selected, resources)


def span_times(spans: Sequence[Any]) -> Iterator[SpanTimes]:
    """Return the times of decoded spans.

    All spans are checked together: a pattern for each would cost as much as decoding it.

    Raises:
        ValueError: If an id is invalid, or a time is not written as exporters do.
    """
    trace_ids, span_ids = [span.trace_id for span in spans], [span.span_id for span in spans]
    starts, ends = [span.start for span in spans], [span.end for span in spans]
    other_characters = "".join([*trace_ids, *span_ids]).encode().translate(None, _DIGITS)
    if other_characters or _NO_TRACE in trace_ids or _NO_SPAN in span_ids:
        raise ValueError("invalid id")
    digits = "".join([*starts, *ends])
    if spans and not (digits.isascii() and digits.isdigit()):
        raise ValueError("invalid time")
    return zip(trace_ids, map(int, starts), map(int, ends), strict=True)


@lru_cache
def json_decoders() -> JsonDecoders | None:
    """Return the decoders, or None if msgspec is not installed."""
    try:
        from msgspec import Meta, Raw, defstruct, field
        from msgspec.json import Decoder
    except ImportError:
        return None

    def text(shortest: int, longest: int) -> Any:
        return Annotated[str, Meta(min_length=shortest, max_length=longest)]

    # gc=False: the structs hold no cycles and live for one line, so the collector may ignore them.
    anything = defstruct("Anything", [], gc=False)
    named = defstruct("Named", [("name", str, "")], gc=False)
    count = Annotated[int, Meta(ge=0, le=2**31)]
    names = [f"SPAN_KIND_{kind}" for kind in KINDS[1:]]
    kinds: Any = Literal.__getitem__((*range(len(KINDS)), *names))
    span = defstruct(
        "Span",
        [
            ("trace_id", text(32, 32), field(name="traceId")),
            ("span_id", text(16, 16), field(name="spanId")),
            ("start", text(1, 19), field(name="startTimeUnixNano")),
            ("end", text(1, 19), field(name="endTimeUnixNano")),
            ("name", str, ""),
            ("kind", kinds, 0),
            ("attributes", list[anything], ()),  # type: ignore[valid-type]
            ("events", list[named], ()),  # type: ignore[valid-type]
            ("status", anything, None),
            ("dropped_events", count, field(name="droppedEventsCount", default=0)),
            ("dropped_attributes", count, field(name="droppedAttributesCount", default=0)),
            ("dropped_events_count", count, 0),
            ("dropped_attributes_count", count, 0),
        ],
        gc=False,
    )
    resource = defstruct("Resource", [("attributes", list[anything], ())])  # type: ignore[valid-type]
    return JsonDecoders(
        _document_decoder(span, resource), _document_decoder(Raw, Raw), Decoder(span)
    )


def _document_decoder(span: Any, resource: Any) -> Any:
    """Return a decoder of documents with spans and resources of these types."""
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
