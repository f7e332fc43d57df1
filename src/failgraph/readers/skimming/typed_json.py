"""Decoders of the one form of OTLP JSON that exporters write, by msgspec: what of it must be of which type.

What is not named here is passed over, and checked as strictly as reading it would.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress
from typing import Annotated, Any, Literal, NamedTuple

from failgraph.traces.spans import KINDS

Times = tuple[str | bytes, int, int]
"""Of a span of which nothing else is read: its trace id, in hex or as bytes, start and end, in ns since the epoch."""

Written = tuple[bytes, list[bytes]]
"""A resource and its spans, each as it is written."""

Part = tuple[bytes, list[object]]
"""A resource as it is written, and spans of it."""

_DIGITS = b"0123456789abcdef"
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16


class Types(NamedTuple):
    """Decoders of documents of the one form."""

    whole: Any
    """With of each span what `times_of` needs."""
    parts: Any
    """With each span and each resource as it is written."""
    span: Any
    """Of a span alone, as in `whole`."""

    def written(self, line: bytes) -> list[Written]:
        """The resources of a document, and their spans."""
        return [
            (
                bytes(resource_spans.resource),
                [
                    bytes(span)
                    for scope_spans in resource_spans.scope_spans
                    for span in scope_spans.spans
                ],
            )
            for resource_spans in self.parts.decode(line).resource_spans
        ]


@lru_cache(maxsize=256)
def resource_of(text: bytes) -> object:
    """A resource that was found as it is written. Raises ValueError where only reading it shows that it is none."""
    return json.loads(text)


def chosen(
    written: Iterable[Written], is_wanted: Callable[[bytes], bool]
) -> tuple[list[bool], list[Part]]:
    """Of each span whether it is wanted, and those that are. Raises ValueError where one, or a resource, is none."""
    flags: list[bool] = []
    found: list[Part] = []
    for resource, texts in written:
        wanted = list(map(is_wanted, texts))
        flags += wanted
        if any(wanted):
            resource_of(
                resource
            )  # may raise here, where the document can still be read another way
            found.append((resource, json.loads(b"[" + b",".join(compress(texts, wanted)) + b"]")))
    return flags, found


def times_of(spans: Sequence[Any]) -> Iterator[Times]:
    """Of spans as they were decoded. Raises ValueError where an id is none, or a time is not written as usual.

    All are looked at together: a pattern for each costs as much as decoding it.
    """
    trace_ids, span_ids = [span.trace_id for span in spans], [span.span_id for span in spans]
    starts, ends = [span.start for span in spans], [span.end for span in spans]
    strange = "".join([*trace_ids, *span_ids]).encode().translate(None, _DIGITS)
    if strange or _NO_TRACE in trace_ids or _NO_SPAN in span_ids:
        raise ValueError("an id is none")
    digits = "".join([*starts, *ends])
    if spans and not (digits.isascii() and digits.isdigit()):
        raise ValueError("a time is none")
    return zip(trace_ids, map(int, starts), map(int, ends), strict=True)


@lru_cache
def types() -> Types | None:
    """The decoders; None without msgspec."""
    try:
        from msgspec import Meta, Raw, defstruct, field
        from msgspec.json import Decoder
    except ImportError:
        return None

    def text(least: int, most: int) -> Any:
        return Annotated[str, Meta(min_length=least, max_length=most)]

    # Without cycles, and gone with their line: the collector of garbage need not look at them.
    anything, named = (
        defstruct("Anything", [], gc=False),
        defstruct("Named", [("name", str, "")], gc=False),
    )
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
    return Types(_decoder(span, resource), _decoder(Raw, Raw), Decoder(span))


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
