"""The classes of OTLP's messages, each with as much of a span as a pass needs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

_BEGINNING = frozenset(
    {"trace_id", "span_id", "kind", "start_time_unix_nano", "end_time_unix_nano"}
)


class Types(NamedTuple):
    """Messages with `bytes` for each `string`.

    Tempo cuts strings by bytes, in the middle of a character too; a message with one such string, of whatever
    attribute, would be refused whole.
    """

    resource_spans: Any
    """With each span as bytes."""
    span: Any
    beginning: Any
    """A span of which only ids, kind and times are read."""
    beginnings: Any
    """A `ResourceSpans` with nothing but these."""


@lru_cache
def types() -> Types:
    """The classes, made once."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from opentelemetry.proto.common.v1 import common_pb2
    from opentelemetry.proto.resource.v1 import resource_pb2
    from opentelemetry.proto.trace.v1 import trace_pb2

    pool = descriptor_pool.DescriptorPool()
    for module in (common_pb2, resource_pb2, trace_pb2):
        file = descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        if module is trace_pb2:
            _shorten(file)
        nested = (inner for outer in file.message_type for inner in outer.nested_type)
        for field in (
            field for message in (*file.message_type, *nested) for field in message.field
        ):
            if field.type == field.TYPE_STRING:
                field.type = field.TYPE_BYTES
        pool.AddSerializedFile(file.SerializeToString())

    def class_of(name: str) -> Any:
        type_ = pool.FindMessageTypeByName(f"opentelemetry.proto.trace.v1.{name}")
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(type_)
        return message_factory.MessageFactory(pool).GetPrototype(type_)

    return Types(*map(class_of, ("ResourceSpans", "Span", "Beginning", "ResourceBeginnings")))


def _shorten(file: Any) -> None:
    """Add the messages with beginnings of spans, and make each span of the others bytes."""
    messages = {message.name: message for message in file.message_type}
    scopes = next(field for field in messages["ResourceSpans"].field if field.name == "scope_spans")
    spans = next(field for field in messages["ScopeSpans"].field if field.name == "spans")
    kept = [field for field in messages["Span"].field if field.name in _BEGINNING]
    file.message_type.add(name="Beginning", field=kept)
    for name, field, of in (
        ("ScopeBeginnings", spans, "Beginning"),
        ("ResourceBeginnings", scopes, "ScopeBeginnings"),
    ):
        file.message_type.add(name=name, field=[field]).field[0].type_name = f".{file.package}.{of}"
    spans.type = spans.TYPE_BYTES
    spans.ClearField("type_name")
