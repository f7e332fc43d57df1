"""Protobuf to spans: OTLP's `TracesData`, plain or in the Collector's length-prefixed messages, and Tempo's answers.

Those are a `Trace`, which is the same on the wire, and of the v2 API a `TraceByIDResponse` around that. One
`ResourceSpans` is read at a time, so that memory does not grow with the file; a `TraceByIDResponse` is held whole.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import lru_cache
from typing import IO, Any, NamedTuple

from failgraph import semconv
from failgraph.readers.answers import said
from failgraph.readers.found import BadLines
from failgraph.readers.skim import IN_FULL, Way
from failgraph.readers.span import KINDS, EventRecord, SpanRecord, Value
from failgraph.readers.typed import Times
from failgraph.readers.wire import MAX_MESSAGE, DamagedError, Field, fields, tags

_FIRST = 0x0A
"""Field 1, length-delimited: `resource_spans`, `batches`, and in a `TraceByIDResponse` the whole trace."""
_SCOPE_SPANS = 0x12
"""Field 2 of a `ResourceSpans`. Whatever has none holds no span, and a trace has no such field."""
_METRICS, _STATUS, _MESSAGE, _PARTIAL = 0x12, 0x18, 0x22, 1
_STATUSES = {1: "OK", 2: "ERROR"}
_PREFIX, _EVENT_NAME = semconv.PREFIX.encode(), semconv.EVENT_NAME.encode()
_OF_RESOURCE, _OF_SPAN = frozenset({b"service.name"}), frozenset({semconv.ROLLOUT_ID.encode()})


def looks_like_protobuf(head: bytes) -> bool:
    """Whether the beginning of a source can be OTLP protobuf, plain or length-prefixed, or an answer of Tempo's.

    The first byte of the plain form is also a line feed; text has none of the control characters that field tags are.
    """
    controls = any(byte < 0x20 and byte not in b"\t\n\r\f" for byte in head)
    return controls and (head[:1] in (b"\x0a", b"\x12", b"\x18") or _is_framed(head))


def _is_framed(head: bytes) -> bool:
    # The Collector's file exporter writes a length of four bytes, big-endian, before each message.
    # A plain message begins with the tag itself, and its own length may well look like the rest of that.
    length = int.from_bytes(head[:4], "big")
    return len(head) > 4 and head[:1] != b"\x0a" and head[4] == _FIRST and 0 < length < MAX_MESSAGE


def protobuf_spans(stream: IO[bytes], head: bytes, bad: BadLines, way: Way = IN_FULL) -> Iterator[SpanRecord]:
    """The spans of a stream; a message that cannot be read goes into `bad`, and the rest is read all the same."""
    from google.protobuf.message import DecodeError

    types = _types()
    answer = _Answer(bad)
    number = 0
    for field in _fields(stream, bad, framed=_is_framed(head)):
        for message in answer.messages(field):
            number += 1
            try:
                resource_spans = types.resource_spans.FromString(message)
            except DecodeError:
                bad.add(f"message {number} is no OTLP protobuf")
                continue
            # What an answer says of its traces is said of each.
            for span in _spans(resource_spans, types, IN_FULL if answer.is_one else way, _Said(number, bad)):
                answer.see(span)
                yield span
    answer.close()


class _Types(NamedTuple):
    resource_spans: Any
    """With each span as bytes."""
    span: Any
    beginning: Any
    """A span of which only ids, kind and times are read."""


_BEGINNING = frozenset({"trace_id", "span_id", "kind", "start_time_unix_nano", "end_time_unix_nano"})


@lru_cache
def _types() -> _Types:
    """The classes of messages, with `bytes` for each `string`.

    Tempo cuts strings by bytes, in the middle of a character too; a message with one such string, of whatever
    attribute, would be refused whole.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from opentelemetry.proto.common.v1 import common_pb2
    from opentelemetry.proto.resource.v1 import resource_pb2
    from opentelemetry.proto.trace.v1 import trace_pb2

    pool = descriptor_pool.DescriptorPool()
    for module in (common_pb2, resource_pb2, trace_pb2):
        file = descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        nested = (inner for outer in file.message_type for inner in outer.nested_type)
        for field in (field for message in (*file.message_type, *nested) for field in message.field):
            if field.type == field.TYPE_STRING:
                field.type = field.TYPE_BYTES
        for message in list(file.message_type):
            if message.name == "ScopeSpans":
                spans = next(field for field in message.field if field.name == "spans")
                spans.type = spans.TYPE_BYTES
                spans.ClearField("type_name")
            elif message.name == "Span":
                kept = [field for field in message.field if field.name in _BEGINNING]
                file.message_type.add(name="Beginning", field=kept)
        pool.AddSerializedFile(file.SerializeToString())

    def class_of(name: str) -> Any:
        type_ = pool.FindMessageTypeByName(f"opentelemetry.proto.trace.v1.{name}")
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(type_)
        return message_factory.MessageFactory(pool).GetPrototype(type_)

    return _Types(*map(class_of, ("ResourceSpans", "Span", "Beginning")))


def _fields(stream: IO[bytes], bad: BadLines, *, framed: bool) -> Iterator[Field]:
    """The fields of all messages, up to where they are damaged."""
    try:
        if not framed:
            yield from fields(stream)
            return
        while length := stream.read(4):
            size = int.from_bytes(length, "big")
            frame = stream.read(size) if len(length) == 4 and size < MAX_MESSAGE else b""
            if len(length) < 4 or len(frame) < size:
                bad.add("the last message is cut off")
                return
            yield from _fields(io.BytesIO(frame), bad, framed=False)
    except DamagedError:
        bad.add("from here on it is no protobuf, or it ends in the middle of a message")


class _Answer:
    """What Tempo's v2 API says around a trace, after it."""

    def __init__(self, bad: BadLines) -> None:
        self._bad = bad
        self._found = bad.found
        self._wrapped = False
        self._trace_ids: dict[str, None] = {}
        self._partial = False
        self._words = ""

    def messages(self, field: Field) -> Iterator[bytes]:
        """Each `ResourceSpans` of a field of the outermost message; anything else is taken in, or passed over."""
        if field.tag == _FIRST:
            self.close()
            self._wrapped = all(tag == _FIRST for tag in tags(field.data))
            if not self._wrapped:
                yield field.data
                return
            self._found.answered |= not field.data
            for part in _fields(io.BytesIO(field.data), self._bad, framed=False):
                if _SCOPE_SPANS in tags(part.data):
                    yield part.data
        elif field.tag in (_METRICS, _STATUS, _MESSAGE):
            self._found.answered = True
            self._partial |= field.tag == _STATUS and field.value == _PARTIAL
            self._words = said(_text(field.data)) if field.tag == _MESSAGE else self._words

    @property
    def is_one(self) -> bool:
        """Whether it is one at all."""
        return self._wrapped

    def see(self, span: SpanRecord) -> None:
        """A span of the trace."""
        if self._wrapped:
            self._trace_ids[span.trace_id] = None

    def close(self) -> None:
        """The answer is over; another may follow."""
        why = f"a part only: {self._words or 'it does not say why'}"
        if self._partial and not self._trace_ids:
            self._found.refuse(why)
        for trace_id in self._trace_ids if self._partial else ():
            self._found.partial.setdefault(trace_id, why)
        self._trace_ids, self._partial, self._words = {}, False, ""


class _Said(NamedTuple):
    """Where to say what is wrong with a span."""

    number: int
    bad: BadLines

    def is_span(self, span: Any) -> bool:
        """Whether it has ids; what else is wrong is said too."""
        if not _usable(span.trace_id, 16) or not _usable(span.span_id, 8):
            self.bad.add(f"message {self.number}: a span without a usable id")
            return False
        if not 0 <= span.kind < len(KINDS):
            self.bad.add(f"message {self.number}: the kind of a span is none")
        return True


def _spans(resource_spans: Any, types: _Types, way: Way, said: _Said) -> Iterator[SpanRecord]:
    from google.protobuf.message import DecodeError

    resource = resource_spans.resource
    process = hash(resource.SerializeToString(deterministic=True))
    service = _attributes(resource.attributes, _OF_RESOURCE).get("service.name")
    passed_over: list[Times] = []
    for scope_spans in resource_spans.scope_spans:
        for data in scope_spans.spans:
            in_full = way.wants(data)
            if not in_full and way.pass_over is None:
                continue
            try:
                span = (types.span if in_full else types.beginning).FromString(data)
            except DecodeError:
                said.bad.add(f"message {said.number}: a span is no OTLP protobuf")
                continue
            if not said.is_span(span):
                continue
            if in_full:
                yield _span(span, service if isinstance(service, str) else "", process)
            else:
                passed_over.append((span.trace_id.hex(), span.start_time_unix_nano, span.end_time_unix_nano))
    if way.pass_over is not None:
        said.bad.found.spans += len(passed_over)
        way.pass_over(passed_over)


def _usable(id_: bytes, size: int) -> bool:
    return len(id_) == size and any(id_)


def _span(span: Any, service: str, process: int) -> SpanRecord:
    events = [event for event in span.events if event.name == _EVENT_NAME]
    return SpanRecord(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        # One of another length is kept as it is: a parent that the source does not hold.
        parent_span_id=span.parent_span_id.hex() if any(span.parent_span_id) else None,
        name=_text(span.name),
        kind=KINDS[span.kind] if 0 <= span.kind < len(KINDS) else "",
        start_unix_nano=span.start_time_unix_nano,
        end_unix_nano=span.end_time_unix_nano,
        service=service,
        process=process,
        attributes=_attributes(span.attributes, _OF_SPAN),
        events=tuple(EventRecord(event.time_unix_nano, _attributes(event.attributes, frozenset())) for event in events),
        dropped=span.dropped_events_count + span.dropped_attributes_count,
        status=_STATUSES.get(span.status.code, ""),
    )


def _attributes(pairs: Any, others: frozenset[bytes]) -> dict[str, Value]:
    """The attributes under our prefix, and those of `others`."""
    found = (pair for pair in pairs if pair.key.startswith(_PREFIX) or pair.key in others)
    return {semconv.NAMES.get(key := _text(pair.key), key): _value(pair.value) for pair in found}


def _value(value: Any) -> Value:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_scalar(item) for item in value.array_value.values]
    return _scalar(value)


def _scalar(value: Any) -> Value:
    """The value of an `AnyValue`; None for one of a type that failgraph never writes."""
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return _text(value.string_value)
    return getattr(value, kind) if kind in ("bool_value", "int_value", "double_value") else None


def _text(data: bytes) -> str:
    """A text; of a character that was cut in the middle nothing is left, so that what is missing can be counted."""
    return data.decode("utf-8", "ignore")
