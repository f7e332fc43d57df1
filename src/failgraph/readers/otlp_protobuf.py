"""Protobuf to spans: OTLP's `TracesData`, plain or in the Collector's length-prefixed messages, and Tempo's answers.

Those are a `Trace`, which is the same on the wire, and of the v2 API a `TraceByIDResponse` around that. One
`ResourceSpans` is read at a time, so that memory does not grow with the file; a `TraceByIDResponse` is held whole.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import chain, compress, repeat
from operator import not_
from typing import IO, Any, NamedTuple

from failgraph import semconv
from failgraph.readers.api_responses import said
from failgraph.readers.contents import BadLines
from failgraph.readers.protobuf_wire import MAX_MESSAGE, DamagedError, Field, fields, tags
from failgraph.readers.skimming.protobuf_heads import are_usual, rows_of, times
from failgraph.readers.skimming.protobuf_types import types
from failgraph.readers.skimming.single_spans import MARK
from failgraph.readers.skimming.skimmer import IN_FULL, Way
from failgraph.readers.skimming.typed_json import Times
from failgraph.traces.spans import KINDS, EventRecord, SpanRecord, Value

_FIRST = 0x0A
"""Field 1, length-delimited: `resource_spans`, `batches`, and in a `TraceByIDResponse` the whole trace."""
_SCOPE_SPANS = 0x12
"""Field 2 of a `ResourceSpans`. Whatever has none holds no span, and a trace has no such field."""
_METRICS, _STATUS, _MESSAGE, _PARTIAL = 0x12, 0x18, 0x22, 1
_STATUSES = {1: "OK", 2: "ERROR"}
_PREFIX, _EVENT_NAME = semconv.PREFIX.encode(), semconv.EVENT_NAME.encode()
_NAMES = {name.encode(): name for name in semconv.NAMES}
_NUMBERS = frozenset({"bool_value", "int_value", "double_value"})
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


def protobuf_spans(
    stream: IO[bytes], head: bytes, bad: BadLines, way: Way = IN_FULL
) -> Iterator[SpanRecord]:
    """The spans of a stream; a message that cannot be read goes into `bad`, and the rest is read all the same."""
    from google.protobuf.message import DecodeError

    answer = _Answer(bad)
    number = 0
    for field in _fields(stream, bad, framed=_is_framed(head)):
        for message in answer.messages(field):
            number += 1
            try:
                resource_spans = types().resource_spans.FromString(message)
            except DecodeError:
                bad.add(f"message {number} is no OTLP protobuf")
                continue
            # What an answer says of its traces is said of each.
            for span in _spans(
                message, resource_spans, IN_FULL if answer.is_one else way, _Said(number, bad)
            ):
                answer.see(span)
                yield span
    answer.close()


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


class _Resource(NamedTuple):
    """What all spans of a `ResourceSpans` share."""

    service: str
    process: int


def _spans(message: bytes, resource_spans: Any, way: Way, said: _Said) -> Iterator[SpanRecord]:
    from google.protobuf.message import DecodeError

    scopes = resource_spans.scope_spans
    skims = way.pass_over is not None
    rows_of_scopes = (
        rows_of(message, sum(len(scope.spans) for scope in scopes)) if skims else repeat(b"")
    )
    passed_over: list[Iterable[Times]] = []
    resource = None
    for scope, rows in zip(scopes, rows_of_scopes, strict=False):
        spans = list(scope.spans)
        wanted = way.wants(spans)
        chosen: Iterable[bool] = wanted
        if skims and are_usual(rows, len(spans)):
            passed_over.append(compress(times(rows), map(not_, wanted)))
            said.bad.found.spans += wanted.count(False)
        elif skims:
            chosen = repeat(True)
        for data, in_full in compress(zip(spans, wanted, strict=True), chosen):
            try:
                span = (types().span if in_full else types().beginning).FromString(data)
            except DecodeError:
                said.bad.add(f"message {said.number}: a span is no OTLP protobuf")
                continue
            if not said.is_span(span):
                continue
            if in_full:
                resource = resource or _resource(resource_spans.resource)
                yield _span(span, data, resource, in_detail=not skims)
            else:
                passed_over.append(
                    [(span.trace_id, span.start_time_unix_nano, span.end_time_unix_nano)]
                )
                said.bad.found.spans += 1
    if way.pass_over is not None:
        way.pass_over(chain.from_iterable(passed_over))


def _resource(resource: Any) -> _Resource:
    service = _attributes(resource.attributes, _OF_RESOURCE).get("service.name")
    return _Resource(
        service if isinstance(service, str) else "",
        hash(resource.SerializeToString(deterministic=True)),
    )


def _usable(id_: bytes, size: int) -> bool:
    return len(id_) == size and any(id_)


def _span(span: Any, data: bytes, resource: _Resource, *, in_detail: bool) -> SpanRecord:
    ours = MARK in data
    return SpanRecord(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        # One of another length is kept as it is: a parent that the source does not hold.
        parent_span_id=span.parent_span_id.hex() if any(span.parent_span_id) else None,
        name=_text(span.name),
        kind=KINDS[span.kind] if 0 <= span.kind < len(KINDS) else "",
        start_unix_nano=span.start_time_unix_nano,
        end_unix_nano=span.end_time_unix_nano,
        service=resource.service,
        process=resource.process,
        attributes=_attributes(span.attributes, _OF_SPAN) if ours else {},
        events=tuple(_events(span.events, in_detail=in_detail)) if ours else (),
        dropped=span.dropped_events_count + span.dropped_attributes_count,
        status=_STATUSES.get(span.status.code, ""),
    )


def _events(events: Any, *, in_detail: bool) -> Iterator[EventRecord]:
    for event in events:
        if event.name == _EVENT_NAME:
            yield EventRecord(
                event.time_unix_nano, _attributes(event.attributes) if in_detail else {}
            )


def _attributes(pairs: Any, others: frozenset[bytes] = frozenset()) -> dict[str, Value]:
    """The attributes under our prefix, and those of `others`."""
    found: dict[str, Value] = {}
    for pair in pairs:
        key = pair.key
        name = _NAMES.get(key)
        if name is not None or key.startswith(_PREFIX) or key in others:
            found[name or _text(key)] = _value(pair.value)
    return found


def _value(value: Any) -> Value:
    """The value of an `AnyValue`; None for one of a type that failgraph never writes."""
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return _text(value.string_value)
    if kind == "array_value":
        return [_scalar(item) for item in value.array_value.values]
    return getattr(value, kind) if kind in _NUMBERS else None


def _scalar(value: Any) -> Value:
    return None if value.WhichOneof("value") == "array_value" else _value(value)


def _text(data: bytes) -> str:
    """A text; of a character that was cut in the middle nothing is left, so that what is missing can be counted."""
    return data.decode("utf-8", "ignore")
