"""OTLP JSON to spans: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding, and what the world makes of it.

Ids as hex or base64, enums as numbers or names, 64-bit integers as numbers or text, keys in camelCase or snake_case,
`batches` for `resourceSpans`, the older `instrumentationLibrarySpans`. Takes only what failgraph needs: a file may hold
tokens as resource attributes.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from failgraph import semconv
from failgraph.readers.api_responses import WARNINGS, left_out, replaced_end
from failgraph.readers.json_parts import At, array, count, fingerprint, integer
from failgraph.readers.skimming.typed_json import Part, resource_of
from failgraph.text import shared
from failgraph.traces.spans import KINDS, EventRecord, SpanRecord, Value

_MAX_PROCESSES = 256
_OF_RESOURCE, _OF_SPAN = frozenset({"service.name"}), frozenset({semconv.ROLLOUT_ID, WARNINGS})
_NONE: frozenset[str] = frozenset()
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


def otlp_spans(document: Mapping[str, object], at: At) -> Iterator[SpanRecord]:
    """The spans of one document; what of it is of the wrong type is said."""
    for name in ("resourceSpans", "batches"):
        for resource_spans in at.list(_get(document, name), name):
            yield from _of_resource(at.dict(resource_spans, name), at)


def _of_resource(resource_spans: Mapping[str, object], at: At) -> Iterator[SpanRecord]:
    process = _process(resource_spans.get("resource"), at)
    for name in ("scopeSpans", "instrumentationLibrarySpans"):
        for scope_spans in at.list(_get(resource_spans, name), name):
            yield from _records(
                at.list(at.dict(scope_spans, name).get("spans"), "spans"), process, at
            )


class _Process(NamedTuple):
    """What a resource says."""

    service: str
    number: int
    """Equal for equal resources."""


def _process(resource: object, at: At) -> _Process:
    attributes = at.dict(resource, "resource").get("attributes")
    service = _attributes(attributes, _OF_RESOURCE, at).get("service.name")
    return _Process(service if isinstance(service, str) else "", fingerprint(attributes))


class PartReader:
    """Reads spans of documents that were skimmed; a resource once, since those of one process are the same."""

    def __init__(self) -> None:
        self._processes: dict[bytes, _Process] = {}

    def spans(self, parts: Iterable[Part], at: At) -> Iterator[SpanRecord]:
        """The same as `otlp_spans` of the document that they are of; nothing is wrong with its resources."""
        for resource, spans in parts:
            process = self._processes.get(resource)
            if process is None:
                if len(self._processes) == _MAX_PROCESSES:
                    self._processes.clear()
                process = self._processes[resource] = _process(resource_of(resource), at)
            yield from _records(spans, process, at)


def _records(spans: Iterable[object], process: _Process, at: At) -> Iterator[SpanRecord]:
    for span in spans:
        fields = at.dict(span, "a span")
        trace_id = _id(_get(fields, "traceId"), 16)
        if at.trace_ids is not None and trace_id not in at.trace_ids:
            continue
        record = _span(fields, trace_id, process, at)
        if record is None:
            at.wrong("a span without a usable id")
        else:
            yield record


def _span(
    span: Mapping[str, object], trace_id: str | None, process: _Process, at: At
) -> SpanRecord | None:
    span_id = _id(_get(span, "spanId"), 8)
    if trace_id is None or span_id is None:
        return None
    attributes = _attributes(span.get("attributes"), _OF_SPAN, at)
    warnings = attributes.pop(WARNINGS, None)
    replaced = replaced_end(warnings)
    why = left_out(warnings)
    if why is not None:
        at.bad.found.partial.setdefault(trace_id, why)
    return SpanRecord(
        trace_id=shared(trace_id),
        span_id=span_id,
        parent_span_id=_parent(_get(span, "parentSpanId")),
        name=shared(at.text(span.get("name"), "the name of a span")),
        kind=_kind(span.get("kind"), at),
        start_unix_nano=count(_get(span, "startTimeUnixNano")),
        end_unix_nano=count(_get(span, "endTimeUnixNano")) if replaced is None else replaced,
        service=process.service,
        process=process.number,
        attributes=attributes,
        events=tuple(_events(span.get("events"), at)),
        dropped=_dropped(span, "droppedEventsCount", at)
        + _dropped(span, "droppedAttributesCount", at),
        status=_status(at.dict(span.get("status"), "the status of a span").get("code")),
    )


def _events(events: object, at: At) -> Iterator[EventRecord]:
    for item in at.list(events, "events"):
        event = at.dict(item, "an event")
        if at.text(event.get("name"), "the name of an event") == semconv.EVENT_NAME:
            attributes = _attributes(event.get("attributes"), _NONE, at)
            yield EventRecord(count(_get(event, "timeUnixNano")), attributes)


def _get(fields: Mapping[str, object], name: str) -> object:
    """The field `name`, also where it is spelled in snake_case."""
    value = fields.get(name)
    return fields.get(_SNAKE.get(name, name)) if value is None else value


def _attributes(pairs: object, others: frozenset[str], at: At) -> dict[str, Value]:
    """The attributes under our prefix, and those of `others`."""
    found: dict[str, Value] = {}
    for item in at.list(pairs, "attributes"):
        pair = item if isinstance(item, dict) else at.dict(item, "an attribute")
        key = pair.get("key")
        if isinstance(key, str) and (key.startswith(semconv.PREFIX) or key in others):
            value = _value(pair.get("value"))
            # Jaeger keeps it as text in Badger, Cassandra and their like, and answers that as OTLP, too.
            key = semconv.NAMES.get(key, key)
            if isinstance(value, str):
                value = (
                    array(value)
                    if semconv.is_array(key)
                    else shared(value)
                    if key in semconv.REPEATED
                    else value
                )
            found[key] = value
    return found


def _value(value: object) -> Value:
    """An `AnyValue`; None for one of a type that failgraph never writes, which is then told as such."""
    fields = value if isinstance(value, dict) else {}
    if len(fields) == 1 and (text := fields.get("stringValue")) is not None:
        return text  # as most are
    array = _get(fields, "arrayValue")
    if isinstance(array, dict):
        values = array.get("values")
        return [_scalar(item) for item in values] if isinstance(values, list) else []
    return _scalar(fields)


def _scalar(value: object) -> Value:
    fields = value if isinstance(value, dict) else {}
    whole = _get(fields, "intValue")
    if whole is not None:
        return integer(whole)
    return next((scalar for name in _SCALARS if (scalar := _get(fields, name)) is not None), None)


def _kind(value: object, at: At) -> str:
    """A span's kind, given as a number or as a name; empty, and said, where it is neither."""
    name = value.upper().removeprefix("SPAN_KIND_") if isinstance(value, str) else ""
    if name and (name in KINDS or name == "UNSPECIFIED"):
        return name.replace("UNSPECIFIED", "")
    number = 0 if value is None else integer(value)
    if number is None or not 0 <= number < len(KINDS):
        at.wrong("the kind of a span is none")
        return ""
    return KINDS[number]


def _status(code: object) -> str:
    """A status, given as a number or as a name; empty where it says nothing."""
    if code is None:
        return ""
    name = code.upper().removeprefix("STATUS_CODE_") if isinstance(code, str) else ""
    return name if name in ("OK", "ERROR") else {1: "OK", 2: "ERROR"}.get(integer(code) or 0, "")


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
    if found is not None or value is None:
        return found
    # Only a text or a number is written out: a file may nest without end.
    shown = str(value)[:32] if isinstance(value, (str, int, float)) else "no id"
    return shown if set(shown) - {"0", "A", "="} else None


def _dropped(span: Mapping[str, object], name: str, at: At) -> int:
    value = _get(span, name)
    if value is None:
        return 0
    if integer(value) is None:
        at.wrong(f"{name} is no number")
    return count(value)
