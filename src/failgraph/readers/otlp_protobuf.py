"""OTLP protobuf to spans: a `TracesData`, several in a row, or the Collector's file of length-prefixed messages.

Read one `ResourceSpans` at a time, so that memory does not grow with the file.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from failgraph import semconv
from failgraph.readers.found import BadLines
from failgraph.readers.span import KINDS, EventRecord, SpanRecord, Value

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

_RESOURCE_SPANS = 0x0A
"""Field 1, length-delimited: `resource_spans` of both `TracesData` and `ExportTraceServiceRequest`."""
_MAX_MESSAGE = 1 << 29


def looks_like_protobuf(head: bytes) -> bool:
    """Whether the beginning of a source can be OTLP protobuf, plain or length-prefixed.

    The first byte of the plain form is also a line feed; text has none of the control characters that field tags are.
    """
    controls = any(byte < 0x20 and byte not in b"\t\n\r\f" for byte in head)
    return controls and (head[:1] == b"\x0a" or _is_framed(head))


def _is_framed(head: bytes) -> bool:
    # The Collector's file exporter writes a length of four bytes, big-endian, before each message.
    # A plain message begins with the tag itself, and its own length may well look like the rest of that.
    length = int.from_bytes(head[:4], "big")
    return len(head) > 4 and head[:1] != b"\x0a" and head[4] == _RESOURCE_SPANS and 0 < length < _MAX_MESSAGE


def protobuf_spans(stream: IO[bytes], head: bytes, bad: BadLines) -> Iterator[SpanRecord]:
    """The spans of a stream; a message that cannot be read goes into `bad`, and the rest is read all the same."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

    framed = _is_framed(head)
    for number, message in enumerate(_messages(stream, bad, framed=framed), 1):
        try:
            resource_spans = ResourceSpans.FromString(message)
        except DecodeError:
            bad.add(f"message {number} is no OTLP protobuf")
            continue
        yield from _spans(resource_spans, number, bad)


def _messages(stream: IO[bytes], bad: BadLines, *, framed: bool) -> Iterator[bytes]:
    """The bytes of each `ResourceSpans`; anything else at the top is passed over."""
    if not framed:
        yield from _fields(stream, bad)
        return
    while length := stream.read(4):
        size = int.from_bytes(length, "big")
        frame = stream.read(size) if len(length) == 4 and size < _MAX_MESSAGE else b""
        if len(length) < 4 or len(frame) < size:
            bad.add("the last message is cut off")
            return
        yield from _fields(io.BytesIO(frame), bad)


class _DamagedError(Exception):
    """What follows is no protobuf, or ends in the middle."""


def _fields(stream: IO[bytes], bad: BadLines) -> Iterator[bytes]:
    """The bytes of each `ResourceSpans` of a message, up to where it is damaged."""
    try:
        while (tag := _varint(stream, may_end=True)) is not None:
            data = _field(stream, tag & 7)
            if tag == _RESOURCE_SPANS:
                yield data
    except _DamagedError:
        bad.add("from here on it is no protobuf, or it ends in the middle of a message")


def _field(stream: IO[bytes], wire: int) -> bytes:
    """The bytes of a field of this wire type."""
    if wire == 0:
        _varint(stream)
        return b""
    size = {1: 8, 5: 4}.get(wire)
    if size is None:
        size = _varint(stream) if wire == 2 else None
    data = stream.read(size) if size is not None and size < _MAX_MESSAGE else b""
    if size is None or len(data) < size:
        raise _DamagedError
    return data


def _varint(stream: IO[bytes], *, may_end: bool = False) -> int | None:
    """The next varint; None where the stream ends before it and `may_end`."""
    value = 0
    for shift in range(0, 70, 7):
        byte = stream.read(1)
        if not byte:
            if may_end and not shift:
                return None
            raise _DamagedError
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    raise _DamagedError


def _spans(resource_spans: ResourceSpans, number: int, bad: BadLines) -> Iterator[SpanRecord]:
    resource = resource_spans.resource
    process = hash(resource.SerializeToString(deterministic=True))
    service = _attributes(resource.attributes, frozenset({"service.name"})).get("service.name")
    for scope_spans in resource_spans.scope_spans:
        for span in scope_spans.spans:
            if not _usable(span.trace_id, 16) or not _usable(span.span_id, 8):
                bad.add(f"message {number}: a span without a usable id")
                continue
            if not 0 <= span.kind < len(KINDS):
                bad.add(f"message {number}: the kind of a span is none")
            yield _span(span, service if isinstance(service, str) else "", process)


def _usable(id_: bytes, size: int) -> bool:
    return len(id_) == size and any(id_)


def _span(span: Any, service: str, process: int) -> SpanRecord:
    events = [event for event in span.events if event.name == semconv.EVENT_NAME]
    return SpanRecord(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        # One of another length is kept as it is: a parent that the source does not hold.
        parent_span_id=span.parent_span_id.hex() if any(span.parent_span_id) else None,
        name=span.name,
        kind=KINDS[span.kind] if 0 <= span.kind < len(KINDS) else "",
        start_unix_nano=span.start_time_unix_nano,
        end_unix_nano=span.end_time_unix_nano,
        service=service,
        process=process,
        attributes=_attributes(span.attributes, frozenset({semconv.ROLLOUT_ID})),
        events=tuple(EventRecord(event.time_unix_nano, _attributes(event.attributes, frozenset())) for event in events),
        dropped=span.dropped_events_count + span.dropped_attributes_count,
    )


def _attributes(pairs: Any, others: frozenset[str]) -> dict[str, Value]:
    """The attributes under our prefix, and those of `others`."""
    return {pair.key: _value(pair.value) for pair in pairs if pair.key.startswith(semconv.PREFIX) or pair.key in others}


def _value(value: Any) -> Value:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_scalar(item) for item in value.array_value.values]
    return _scalar(value)


def _scalar(value: Any) -> Value:
    """The value of an `AnyValue`; None for one of a type that failgraph never writes."""
    kind = value.WhichOneof("value")
    return getattr(value, kind) if kind in ("string_value", "bool_value", "int_value", "double_value") else None
