"""Turn parsed OTLP protobuf messages into records, with only the attributes that are needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from failgraph import semconv
from failgraph.readers.skimming.single_spans import GYM_PREFIX
from failgraph.traces.spans import KINDS, EventRecord, SpanRecord, Value

_STATUS_CODES = {1: "OK", 2: "ERROR"}
_PREFIX, _EVENT_NAME = semconv.PREFIX.encode(), semconv.EVENT_NAME.encode()
_NAMES = {name.encode(): name for name in semconv.NAMES}
_NUMBERS = frozenset({"bool_value", "int_value", "double_value"})
_RESOURCE_KEYS = frozenset({b"service.name"})
_SPAN_KEYS = frozenset({semconv.ROLLOUT_ID.encode()})
_NO_KEYS: frozenset[bytes] = frozenset()


class ProtobufResource(NamedTuple):
    """A resource, as `SpanRecord` needs it."""

    service: str
    process: int


def resource_record(resource: Any) -> ProtobufResource:
    """Return what the spans of a `Resource` message share."""
    service = _attributes(resource.attributes, _RESOURCE_KEYS).get("service.name")
    number = hash(resource.SerializeToString(deterministic=True))
    return ProtobufResource(service if isinstance(service, str) else "", number)


def span_record(
    span: Any, data: bytes, resource: ProtobufResource, *, with_event_attributes: bool
) -> SpanRecord:
    """Return a `Span` message as a record.

    Args:
        span: The message, with valid ids.
        data: The serialized message.
        resource: The resource of the span.
        with_event_attributes: False to leave out the attributes of its failure events.
    """
    is_ours = GYM_PREFIX in data
    events = _events(span.events, with_attributes=with_event_attributes) if is_ours else ()
    return SpanRecord(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        # An id of another length is kept: a parent that the source does not hold.
        parent_span_id=span.parent_span_id.hex() if any(span.parent_span_id) else None,
        name=_text(span.name),
        kind=KINDS[span.kind] if 0 <= span.kind < len(KINDS) else "",
        start_unix_nano=span.start_time_unix_nano,
        end_unix_nano=span.end_time_unix_nano,
        service=resource.service,
        process=resource.process,
        attributes=_attributes(span.attributes, _SPAN_KEYS) if is_ours else {},
        events=tuple(events),
        dropped=span.dropped_events_count + span.dropped_attributes_count,
        status=_STATUS_CODES.get(span.status.code, ""),
    )


def _events(events: Any, *, with_attributes: bool) -> Iterator[EventRecord]:
    """Yield the failure events of a span."""
    for event in events:
        if event.name == _EVENT_NAME:
            attributes = _attributes(event.attributes, _NO_KEYS) if with_attributes else {}
            yield EventRecord(event.time_unix_nano, attributes)


def _attributes(pairs: Any, others: frozenset[bytes]) -> dict[str, Value]:
    """Return the attributes with failgraph's prefix, and those named in `others`."""
    attributes: dict[str, Value] = {}
    for pair in pairs:
        key = pair.key
        name = _NAMES.get(key)
        if name is not None or key.startswith(_PREFIX) or key in others:
            attributes[name or _text(key)] = _value(pair.value)
    return attributes


def _value(value: Any) -> Value:
    """Return an `AnyValue`, or None if its type is not one that failgraph writes."""
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return _text(value.string_value)
    if kind == "array_value":
        return [_scalar(item) for item in value.array_value.values]
    return getattr(value, kind) if kind in _NUMBERS else None


def _scalar(value: Any) -> Value:
    return None if value.WhichOneof("value") == "array_value" else _value(value)


def _text(data: bytes) -> str:
    """Decode a text. A character that was cut in two is dropped, so that `text_bytes` shows it."""
    return data.decode("utf-8", "ignore")
