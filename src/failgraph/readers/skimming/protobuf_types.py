"""Message classes of OTLP that parse only as much of a span as a pass needs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

_HEAD_FIELDS = frozenset(
    {"trace_id", "span_id", "kind", "start_time_unix_nano", "end_time_unix_nano"}
)


class MessageClasses(NamedTuple):
    """Messages with `bytes` in place of every `string`.

    Tempo cuts strings by bytes, also in the middle of a character. One such string, in whatever
    attribute, would make protobuf refuse the whole message.

    Attributes:
        resource_spans: A `ResourceSpans` that leaves each span as bytes.
        span: A whole `Span`.
        span_head: A `Span` with only ids, kind and times.
        resource_heads: A `ResourceSpans` with nothing but span heads.
    """

    resource_spans: Any
    span: Any
    span_head: Any
    resource_heads: Any


@lru_cache
def message_classes() -> MessageClasses:
    """Return the classes. They are built from OpenTelemetry's own descriptors on first use."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from opentelemetry.proto.common.v1 import common_pb2
    from opentelemetry.proto.resource.v1 import resource_pb2
    from opentelemetry.proto.trace.v1 import trace_pb2

    pool = descriptor_pool.DescriptorPool()
    for module in (common_pb2, resource_pb2, trace_pb2):
        file = descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        if module is trace_pb2:
            _add_heads(file)
        nested = (inner for outer in file.message_type for inner in outer.nested_type)
        for message in (*file.message_type, *nested):
            for field in message.field:
                if field.type == field.TYPE_STRING:
                    field.type = field.TYPE_BYTES
        pool.AddSerializedFile(file.SerializeToString())

    def class_of(name: str) -> Any:
        descriptor = pool.FindMessageTypeByName(f"opentelemetry.proto.trace.v1.{name}")
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(descriptor)
        return message_factory.MessageFactory(pool).GetPrototype(descriptor)

    return MessageClasses(*map(class_of, ("ResourceSpans", "Span", "SpanHead", "ResourceHeads")))


def _add_heads(file: Any) -> None:
    """Add the messages with span heads, and make each span of the original messages bytes."""
    messages = {message.name: message for message in file.message_type}
    scopes = next(field for field in messages["ResourceSpans"].field if field.name == "scope_spans")
    spans = next(field for field in messages["ScopeSpans"].field if field.name == "spans")
    head_fields = [field for field in messages["Span"].field if field.name in _HEAD_FIELDS]
    file.message_type.add(name="SpanHead", field=head_fields)
    for name, field, type_name in (
        ("ScopeHeads", spans, "SpanHead"),
        ("ResourceHeads", scopes, "ScopeHeads"),
    ):
        message = file.message_type.add(name=name, field=[field])
        message.field[0].type_name = f".{file.package}.{type_name}"
    spans.type = spans.TYPE_BYTES
    spans.ClearField("type_name")
