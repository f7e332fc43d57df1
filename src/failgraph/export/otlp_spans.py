"""Spans of OTLP documents as OpenTelemetry's exporters take them, with what these leave out."""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags

from failgraph.export.otlp_documents import Fields, SpanGroup, span_groups
from failgraph.readers.json_values import integer

_IS_REMOTE = 0x200  # bit of a span's and of a link's flags
_WRONG_TYPE = (ValueError, TypeError, AttributeError, OverflowError)  # what reading a field raises
_VALUE = {"value": {"stringValue": "v"}}
_ATTRIBUTES = [
    {"key": "a", "value": {"stringValue": "v"}},
    {"key": "b", "value": {"boolValue": True}},
    {"key": "c", "value": {"intValue": "1"}},
    {"key": "d", "value": {"doubleValue": 0.5}},
    {"key": "e", "value": {"bytesValue": "AA=="}},
    {"key": "f", "value": {"arrayValue": {"values": [{"stringValue": "v"}]}}},
    {"key": "g", "value": {"kvlistValue": {"values": [{"key": "k", **_VALUE}]}}},
]
_LINK = {"traceId": "1" * 32, "spanId": "1" * 16, "traceState": "a=b", "flags": 1}
_SAMPLE = SpanGroup(
    {
        "schemaUrl": "u",
        "resource": {"attributes": _ATTRIBUTES, "droppedAttributesCount": 1},
    },
    {
        "schemaUrl": "u",
        "scope": {
            "name": "n",
            "version": "v",
            "attributes": _ATTRIBUTES,
            "droppedAttributesCount": 1,
        },
    },
    [
        {
            "traceId": "1" * 32,
            "spanId": "1" * 16,
            "parentSpanId": "2" * 16,
            "traceState": "a=b",
            "flags": 1,
            "name": "n",
            "kind": 2,
            "startTimeUnixNano": "1",
            "endTimeUnixNano": "2",
            "attributes": _ATTRIBUTES,
            "droppedAttributesCount": 1,
            "events": [
                {
                    "name": "n",
                    "timeUnixNano": "1",
                    "attributes": _ATTRIBUTES,
                    "droppedAttributesCount": 1,
                }
            ],
            "droppedEventsCount": 1,
            "links": [{**_LINK, "attributes": _ATTRIBUTES, "droppedAttributesCount": 1}],
            "droppedLinksCount": 1,
            "status": {"code": 2, "message": "m"},
        }
    ],
)
"""A span with every field that the exporters may know."""


@dataclass(eq=False, slots=True)
class _Scope:
    """What exporters read of a resource or an instrumentation scope. Compared by identity."""

    attributes: dict[str, Any]
    schema_url: str
    name: str = ""
    version: str = ""


class _TraceState:
    """A trace state as it was written. OpenTelemetry's own drops what it considers invalid."""

    def __init__(self, text: str) -> None:
        self._text = text

    def items(self) -> Iterator[tuple[str, str]]:
        for entry in self._text.split(","):
            key, _, value = entry.partition("=")
            yield key, value


class _ExportedSpan(ReadableSpan):
    """A span with the numbers of dropped events, links and attributes of the document."""

    def __init__(self, fields: Fields, **others: Any) -> None:
        super().__init__(**others)
        self._attributes_count = _unsigned(fields, "droppedAttributesCount", 32)
        self._events_count = _unsigned(fields, "droppedEventsCount", 32)
        self._links_count = _unsigned(fields, "droppedLinksCount", 32)

    @property
    def dropped_attributes(self) -> int:
        return self._attributes_count

    @property
    def dropped_events(self) -> int:
        return self._events_count

    @property
    def dropped_links(self) -> int:
        return self._links_count


def exportable_spans(group: SpanGroup) -> Iterator[ReadableSpan | None]:
    """Return the spans of a group as exporters read them, with None for one of wrong types.

    All are None if the resource or the scope has a field of a wrong type.
    """
    try:
        common = _resource_and_scope(group)
    except _WRONG_TYPE:
        return iter([None] * len(group.spans))
    return (_span_or_none(fields, common) for fields in group.spans)


def _resource_and_scope(group: SpanGroup) -> dict[str, Any]:
    resource, scope = group.resource.get("resource", {}), group.scope.get("scope", {})
    return {
        "resource": _Scope(
            _attributes(resource.get("attributes")), _text(group.resource, "schemaUrl")
        ),
        "instrumentation_scope": _Scope(
            _attributes(scope.get("attributes")),
            _text(group.scope, "schemaUrl"),
            _text(scope, "name"),
            _text(scope, "version"),
        ),
    }


def lost_fields(group: SpanGroup) -> frozenset[str]:
    """Return the names of the fields of a group that the installed exporters do not send."""
    return frozenset(_paths(group.document())) - _sent_fields()


@functools.cache
def _sent_fields() -> frozenset[str]:
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    request = encode_spans([span for span in exportable_spans(_SAMPLE) if span is not None])
    sent = span_groups(MessageToDict(request, use_integers_for_enums=True), lambda _: None)
    return frozenset(path for group in sent for path in _paths(group.document()))


def _paths(fields: Fields, prefix: str = "") -> Iterator[str]:
    """Yield the name of each field behind those of the fields around it."""
    for name, value in fields.items():
        # The type of a value is named without the attribute that it belongs to.
        path = name if name.endswith("Value") else f"{prefix}{name}"
        yield path
        inner = "" if name.endswith("Value") else f"{path}."
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, dict):
                yield from _paths(item, inner)


def _span_or_none(fields: Fields, common: dict[str, Any]) -> ReadableSpan | None:
    try:
        return _span(fields, common)
    except _WRONG_TYPE:
        return None


def _span(fields: Fields, common: dict[str, Any]) -> ReadableSpan:
    status = fields.get("status", {})
    kind = _enum(fields, "kind")
    parent = None
    if "parentSpanId" in fields:
        parent = _context({**fields, "spanId": fields["parentSpanId"]})
    return _ExportedSpan(
        fields,
        name=_text(fields, "name"),
        context=_context(fields),
        parent=parent,
        attributes=_attributes(fields.get("attributes")),
        events=[_event(event) for event in fields.get("events", ())],
        links=[_link(link) for link in fields.get("links", ())],
        # OTLP lets a reader take an unspecified kind for INTERNAL; the SDK has no other.
        kind=SpanKind(kind - 1) if kind in range(1, 6) else SpanKind.INTERNAL,
        status=cast(
            "Any",
            SimpleNamespace(
                status_code=SimpleNamespace(value=_enum(status, "code")),
                description=_text(status, "message"),
            ),
        ),
        start_time=_unsigned(fields, "startTimeUnixNano", 64),
        end_time=_unsigned(fields, "endTimeUnixNano", 64),
        **common,
    )


def _event(fields: Fields) -> SimpleNamespace:
    return SimpleNamespace(
        name=_text(fields, "name"),
        timestamp=_unsigned(fields, "timeUnixNano", 64),
        attributes=_attributes(fields.get("attributes")),
        dropped_attributes=_unsigned(fields, "droppedAttributesCount", 32),
    )


def _link(fields: Fields) -> SimpleNamespace:
    return SimpleNamespace(
        context=_context(fields),
        attributes=_attributes(fields.get("attributes")),
        dropped_attributes=_unsigned(fields, "droppedAttributesCount", 32),
    )


def _context(fields: Fields) -> SpanContext:
    state = _text(fields, "traceState")
    return SpanContext(
        int(fields.get("traceId", "0"), 16),
        int(fields.get("spanId", "0"), 16),
        is_remote=bool(_unsigned(fields, "flags", 32) & _IS_REMOTE),
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
        trace_state=cast("Any", _TraceState(state)) if state else None,
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {_text(pair, "key"): _value(pair.get("value", {})) for pair in pairs or ()}


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string")
    value.encode()  # raises ValueError for a lone surrogate, which protobuf does not take
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("boolValue must be true or false")
    return value


def _unsigned(fields: Fields, name: str, bits: int) -> int:
    number = integer(fields.get(name, 0))
    if number is None or not 0 <= number < 2**bits:
        raise ValueError(f"{name} must be a number of {bits} bits")
    return number


def _enum(fields: Fields, name: str) -> int:
    number = integer(fields.get(name, 0))
    if number is None or not -(2**31) <= number < 2**31:
        raise ValueError(f"{name} must be a number of an enum")
    return number


def _int64(value: object) -> int:
    number = integer(value)
    if number is None or number >= 2**63:
        raise ValueError("an integer beyond 64 bits")
    return number


def _value(value: Fields) -> Any:
    """Return an `AnyValue`, None if it has no value."""
    if "arrayValue" in value:
        return [_value(item) for item in value["arrayValue"].get("values", ())]
    if "kvlistValue" in value:
        return _attributes(value["kvlistValue"].get("values"))
    if "bytesValue" in value:
        return base64.b64decode(value["bytesValue"])
    if "intValue" in value:
        return _int64(value["intValue"])
    if "doubleValue" in value:
        return float(value["doubleValue"])  # also of the texts NaN, Infinity and -Infinity
    if "boolValue" in value:
        return _boolean(value["boolValue"])
    return None if value.get("stringValue") is None else _text(value, "stringValue")
