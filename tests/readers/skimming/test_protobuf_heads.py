"""Ids and times of many protobuf spans at once, unless one of them is unusual."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from failgraph.readers.skimming.protobuf_heads import are_usual, row_times, span_rows

COUNT = 20


def message(change: Callable[[Any], object] = lambda _: None) -> Any:
    """Return twenty usual spans, one of which may be changed, and two in another scope."""
    resource_spans = ResourceSpans(schema_url="https://s")
    resource_spans.resource.attributes.add(key="service.name").value.string_value = "agent"
    for scope, count in enumerate((COUNT, 2)):
        scope_spans = resource_spans.scope_spans.add(schema_url="https://s")
        scope_spans.scope.name = "httpx"
        for at in range(count):
            scope_spans.spans.add(
                trace_id=bytes([at + 1]) * 16,
                span_id=bytes([scope + 1]) + bytes([at]) * 7,
                parent_span_id=b"12345678",
                name="GET" * at,
                kind=1 + at % 5,
                start_time_unix_nano=1_700_000_000_000_000_000 + at,
                end_time_unix_nano=2**64 - 1 - at,
            ).attributes.add(key="url.full").value.string_value = "http://h"
    change(resource_spans.scope_spans[0].spans[7])
    return resource_spans


def rows(data: bytes) -> list[bytes]:
    """Return the rows of both scopes."""
    return list(islice(span_rows(data, COUNT + 2), 2))


def seen(spans: Iterable[Any]) -> list[tuple[bytes, int, int]]:
    """Return what should be read of these spans."""
    return [(each.trace_id, each.start_time_unix_nano, each.end_time_unix_nano) for each in spans]


def test_usual_spans_are_read_at_once():
    """Ids and times are those that parsing each span gives, in its order."""
    made = message()
    scopes = rows(made.SerializeToString())
    assert [are_usual(each, count) for each, count in zip(scopes, (COUNT, 2), strict=True)] == [
        True,
        True,
    ]
    assert [list(row_times(each)) for each in scopes] == [
        seen(scope.spans) for scope in made.scope_spans
    ]
    assert not are_usual(scopes[0], COUNT - 1)


def test_the_last_of_repeated_fields_counts():
    """As in protobuf."""
    first, last = (
        Span(
            trace_id=letter * 16,
            span_id=letter * 8,
            kind=1,
            start_time_unix_nano=5,
            end_time_unix_nano=ord(letter),
        )
        for letter in (b"a", b"b")
    )
    twice = first.SerializeToString() + last.SerializeToString()
    scope = b"\x12" + bytes((len(twice),)) + twice
    first_scope, *_ = rows(b"\x12" + bytes((len(scope),)) + scope)
    assert are_usual(first_scope, 1)
    assert list(row_times(first_scope)) == seen([last])


UNUSUAL: dict[str, Callable[[Any], object]] = {
    "no trace id": lambda span: span.ClearField("trace_id"),
    "a short trace id": lambda span: setattr(span, "trace_id", b"1" * 15),
    "a trace id of zeros": lambda span: setattr(span, "trace_id", bytes(16)),
    "ids that are as long together": lambda span: (
        setattr(span, "trace_id", b"1" * 8),
        setattr(span, "span_id", b"1" * 16),
    ),
    "a span id of zeros": lambda span: setattr(span, "span_id", bytes(8)),
    "no kind": lambda span: span.ClearField("kind"),
    "a kind that is none": lambda span: span.MergeFromString(b"\x30\x06"),
    "a kind of two bytes": lambda span: span.MergeFromString(b"\x30\x81\x01"),
    "no start": lambda span: span.ClearField("start_time_unix_nano"),
    "no end": lambda span: span.ClearField("end_time_unix_nano"),
}


@pytest.mark.parametrize("change", UNUSUAL.values(), ids=UNUSUAL)
def test_one_unusual_span_makes_its_scope_unusual(change):
    """Its scope is then read span by span; the other scope is not."""
    first, second = rows(message(change).SerializeToString())
    assert not are_usual(first, COUNT)
    assert are_usual(second, 2)


def test_damage_and_few_spans_give_no_rows():
    """Damage cannot be parsed at once, and few spans are not worth it."""
    data = message().SerializeToString()
    assert [are_usual(each, 2) for each in islice(span_rows(data, 2), 2)] == [False, False]
    assert not are_usual(rows(data + b"\x12\x04\x12\x02\x0a\x10")[0], COUNT)
