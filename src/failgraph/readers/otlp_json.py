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
from typing import NamedTuple

from failgraph import semconv
from failgraph.readers.found import BadLines
from failgraph.readers.json_documents import unwrapped
from failgraph.readers.span import KINDS, EventRecord, SpanRecord, Value

_DECIMAL = re.compile(r"-?[0-9]{1,20}")
_HEX = re.compile(r"[0-9a-fA-F]+")
_SCALARS = ("stringValue", "boolValue", "doubleValue")
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
    """The spans of one document, or of a list of them; what of it is of the wrong type goes into `bad`."""
    at = _At(line, bad)
    for top in unwrapped(document):
        fields = at.dict(top, "a document")
        for name in ("resourceSpans", "batches"):
            for resource_spans in at.list(_get(fields, name), name):
                yield from _of_resource(at.dict(resource_spans, name), at)


class _At(NamedTuple):
    """A place of the source, and where to say what is wrong there."""

    line: int
    bad: BadLines

    def wrong(self, what: str) -> None:
        """Something is not as OTLP has it, and is left out."""
        self.bad.add(f"line {self.line}: {what}")

    def dict(self, value: object, what: str) -> Mapping[str, object]:
        """`value` where it is an object; empty, and said, where it is anything else but absent."""
        if isinstance(value, dict):
            return value
        if value is not None:
            self.wrong(f"{what} is no object")
        return {}

    def list(self, value: object, what: str) -> list[object]:
        """`value` where it is an array; empty, and said, where it is anything else but absent."""
        if isinstance(value, list):
            return value
        if value is not None:
            self.wrong(f"{what} is no array")
        return []

    def text(self, value: object, what: str) -> str:
        """`value` where it is text; empty, and said, where it is anything else but absent."""
        if isinstance(value, str):
            return value
        if value is not None:
            self.wrong(f"{what} is no text")
        return ""


def _of_resource(resource_spans: Mapping[str, object], at: _At) -> Iterator[SpanRecord]:
    attributes = at.dict(resource_spans.get("resource"), "resource").get("attributes")
    process = _fingerprint(attributes)
    service = _attributes(attributes, frozenset({"service.name"}), at).get("service.name")
    for name in ("scopeSpans", "instrumentationLibrarySpans"):
        for scope_spans in at.list(_get(resource_spans, name), name):
            for span in at.list(at.dict(scope_spans, name).get("spans"), "spans"):
                record = _span(at.dict(span, "a span"), service if isinstance(service, str) else "", process, at)
                if record is None:
                    at.wrong("a span without a usable id")
                else:
                    yield record


def _span(span: Mapping[str, object], service: str, process: int, at: _At) -> SpanRecord | None:
    trace_id, span_id = _id(_get(span, "traceId"), 16), _id(_get(span, "spanId"), 8)
    if trace_id is None or span_id is None:
        return None
    return SpanRecord(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=_parent(_get(span, "parentSpanId")),
        name=at.text(span.get("name"), "the name of a span"),
        kind=_kind(span.get("kind"), at),
        start_unix_nano=_count(_get(span, "startTimeUnixNano")),
        end_unix_nano=_count(_get(span, "endTimeUnixNano")),
        service=service,
        process=process,
        attributes=_attributes(span.get("attributes"), frozenset({semconv.ROLLOUT_ID}), at),
        events=tuple(_events(span.get("events"), at)),
        dropped=sum(_dropped(span, name, at) for name in ("droppedEventsCount", "droppedAttributesCount")),
    )


def _events(events: object, at: _At) -> Iterator[EventRecord]:
    for item in at.list(events, "events"):
        event = at.dict(item, "an event")
        if at.text(event.get("name"), "the name of an event") == semconv.EVENT_NAME:
            attributes = _attributes(event.get("attributes"), frozenset(), at)
            yield EventRecord(_count(_get(event, "timeUnixNano")), attributes)


def _get(fields: Mapping[str, object], name: str) -> object:
    """The field `name`, also where it is spelled in snake_case."""
    value = fields.get(name)
    return fields.get(_SNAKE.get(name, name)) if value is None else value


def _fingerprint(attributes: object) -> int:
    """A number that is equal for equal resources; of what a resource says nothing else is kept."""
    try:
        return hash(json.dumps(attributes, sort_keys=True))
    except RecursionError:
        return 0


def _attributes(pairs: object, others: frozenset[str], at: _At) -> dict[str, Value]:
    """The attributes under our prefix, and those of `others`."""
    found: dict[str, Value] = {}
    for item in at.list(pairs, "attributes"):
        pair = at.dict(item, "an attribute")
        key = pair.get("key")
        if isinstance(key, str) and (key.startswith(semconv.PREFIX) or key in others):
            found[key] = _value(pair.get("value"))
    return found


def _value(value: object) -> Value:
    """An `AnyValue`; None for one of a type that failgraph never writes, which is then told as such."""
    fields = value if isinstance(value, dict) else {}
    array = _get(fields, "arrayValue")
    if isinstance(array, dict):
        values = array.get("values")
        return [_scalar(item) for item in values] if isinstance(values, list) else []
    return _scalar(fields)


def _scalar(value: object) -> Value:
    fields = value if isinstance(value, dict) else {}
    integer = _get(fields, "intValue")
    if integer is not None:
        return _integer(integer)
    return next((scalar for name in _SCALARS if (scalar := _get(fields, name)) is not None), None)


def _kind(value: object, at: _At) -> str:
    """A span's kind, given as a number or as a name; empty, and said, where it is neither."""
    name = value.upper().removeprefix("SPAN_KIND_") if isinstance(value, str) else ""
    if name and (name in KINDS or name == "UNSPECIFIED"):
        return name.replace("UNSPECIFIED", "")
    number = 0 if value is None else _integer(value)
    if number is None or not 0 <= number < len(KINDS):
        at.wrong("the kind of a span is none")
        return ""
    return KINDS[number]


def _id(value: object, size: int) -> str | None:
    """An id of `size` bytes in lower-case hex, given in hex or base64; None where it is absent, no id, or all zero."""
    if not isinstance(value, str):
        return None
    if len(value) == 2 * size and _HEX.fullmatch(value):
        found = value.lower()
    elif len(value) == 4 * ((size + 2) // 3):
        try:
            found = base64.b64decode(value, validate=True).hex()
        except (binascii.Error, ValueError):
            return None
    else:
        return None
    return found if len(found) == 2 * size and found.strip("0") else None


def _parent(value: object) -> str | None:
    """The parent's id; one that is no id is kept as it is: a parent that the source does not hold."""
    found = _id(value, 8)
    if found is None and value not in (None, "") and set(str(value)) - {"0", "A", "="}:
        return str(value)[:32]
    return found


def _count(value: object) -> int:
    """A time or a count, given as a number or as text; 0 where it is absent or no such thing."""
    return max(0, _integer(value) or 0)


def _dropped(span: Mapping[str, object], name: str, at: _At) -> int:
    value = _get(span, name)
    if value is not None and _integer(value) is None:
        at.wrong(f"{name} is no number")
    return _count(value)


def _integer(value: object) -> int | None:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64 else None
