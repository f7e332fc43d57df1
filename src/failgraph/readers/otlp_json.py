"""OTLP JSON to spans: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding, and what the world makes of it.

Ids as hex or base64, enums as numbers or names, 64-bit integers as numbers or text, keys in camelCase or snake_case,
`batches` for `resourceSpans`, the older `instrumentationLibrarySpans`. Takes only what failgraph needs: a file may hold
tokens as resource attributes.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping

from failgraph import semconv
from failgraph.readers.json_documents import BadLines
from failgraph.readers.span import KINDS, EventRecord, SpanRecord, Value

_DECIMAL = re.compile(r"-?[0-9]{1,20}")
_HEX = re.compile(r"[0-9a-fA-F]+")
_SCALARS = ("stringValue", "boolValue", "doubleValue")
_WRAPPERS = ("trace", "result")
"""Keys under which an API puts the whole document."""
_SNAKE = {
    camel: re.sub("([A-Z])", lambda upper: "_" + upper[1].lower(), camel)
    for camel in (
        "resourceSpans",
        "scopeSpans",
        "instrumentationLibrarySpans",
        "traceId",
        "spanId",
        "parentSpanId",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "timeUnixNano",
        "droppedEventsCount",
        "droppedAttributesCount",
        "arrayValue",
        "intValue",
        *_SCALARS,
    )
}


def spans_of(document: object, line: int, bad: BadLines) -> Iterator[SpanRecord]:
    """The spans of one document, or of a list of them; one without usable ids goes into `bad`."""
    documents = document if isinstance(document, list) else [document]
    for each in documents:
        top = _dict(each)
        for key in _WRAPPERS:
            top = _dict(top[key]) if isinstance(top.get(key), dict) else top
        for resource_spans in (*_list(_get(top, "resourceSpans")), *_list(top.get("batches"))):
            yield from _of_resource(_dict(resource_spans), line, bad)


def _of_resource(resource_spans: Mapping[str, object], line: int, bad: BadLines) -> Iterator[SpanRecord]:
    attributes = _dict(resource_spans.get("resource")).get("attributes")
    process = _fingerprint(attributes)
    service = _attributes(attributes, frozenset({"service.name"})).get("service.name")
    scopes = (*_list(_get(resource_spans, "scopeSpans")), *_list(_get(resource_spans, "instrumentationLibrarySpans")))
    for scope_spans in scopes:
        for span in _list(_dict(scope_spans).get("spans")):
            record = _span(_dict(span), service if isinstance(service, str) else "", process)
            if record is None:
                bad.add(f"line {line}: a span without a usable id")
            else:
                yield record


def _span(span: Mapping[str, object], service: str, process: int) -> SpanRecord | None:
    trace_id, span_id = _id(_get(span, "traceId"), 16), _id(_get(span, "spanId"), 8)
    if trace_id is None or span_id is None:
        return None
    name = span.get("name")
    return SpanRecord(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=_id(_get(span, "parentSpanId"), 8),
        name=name if isinstance(name, str) else "",
        kind=_kind(span.get("kind")),
        start_unix_nano=_count(_get(span, "startTimeUnixNano")),
        end_unix_nano=_count(_get(span, "endTimeUnixNano")),
        service=service,
        process=process,
        attributes=_attributes(span.get("attributes"), frozenset({semconv.ROLLOUT_ID})),
        events=tuple(
            EventRecord(_count(_get(event, "timeUnixNano")), _attributes(event.get("attributes"), frozenset()))
            for event in map(_dict, _list(span.get("events")))
            if event.get("name") == semconv.EVENT_NAME
        ),
        dropped=_count(_get(span, "droppedEventsCount")) + _count(_get(span, "droppedAttributesCount")),
    )


def _get(fields: Mapping[str, object], name: str) -> object:
    """The field `name`, also where it is spelled in snake_case."""
    value = fields.get(name)
    return fields.get(_SNAKE[name]) if value is None else value


def _fingerprint(attributes: object) -> int:
    """A number that is equal for equal resources; of what a resource says nothing else is kept."""
    try:
        return hash(json.dumps(attributes, sort_keys=True))
    except RecursionError:
        return 0


def _attributes(pairs: object, others: frozenset[str]) -> dict[str, Value]:
    """The attributes under our prefix, and those of `others`."""
    found: dict[str, Value] = {}
    for pair in map(_dict, _list(pairs)):
        key = pair.get("key")
        if isinstance(key, str) and (key.startswith(semconv.PREFIX) or key in others):
            found[key] = _value(_dict(pair.get("value")))
    return found


def _value(fields: Mapping[str, object]) -> Value:
    """An `AnyValue`; None for one of a type that failgraph never writes."""
    array = _get(fields, "arrayValue")
    if isinstance(array, dict):
        return [_scalar(_dict(item)) for item in _list(array.get("values"))]
    return _scalar(fields)


def _scalar(fields: Mapping[str, object]) -> Value:
    integer = _get(fields, "intValue")
    if integer is not None:
        return _integer(integer)
    return next((value for name in _SCALARS if (value := _get(fields, name)) is not None), None)


def _kind(value: object) -> str:
    """A span's kind, given as a number or as a name; empty where it is neither."""
    if isinstance(value, str):
        name = value.upper().removeprefix("SPAN_KIND_")
        if name in KINDS:
            return name
    number = _count(value)
    return KINDS[number] if number < len(KINDS) else ""


def _id(value: object, size: int) -> str | None:
    """An id of `size` bytes in lower-case hex, given in hex or base64; None where it is absent, no id, or all zero."""
    if not isinstance(value, str):
        return None
    if len(value) == 2 * size and _HEX.fullmatch(value):
        found = value.lower()
    elif len(value) == 4 * ((size + 2) // 3):
        try:
            found = base64.b64decode(value, validate=True).hex()
        except binascii.Error:
            return None
    else:
        return None
    return found if len(found) == 2 * size and found.strip("0") else None


def _count(value: object) -> int:
    """A time or a count, given as a number or as text; 0 where it is absent or no such thing."""
    return max(0, _integer(value) or 0)


def _integer(value: object) -> int | None:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64 else None


def _dict(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
