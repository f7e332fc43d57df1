"""Spans of the SDK: read their failure events, or make them from OTLP JSON for a real exporter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from failgraph.semconv import EVENT_NAME

IS_REMOTE = 0x200  # OTLP's flag of a span whose parent belongs to another process


def failure_events(spans: Iterable[ReadableSpan]) -> list[dict[str, Any]]:
    """Return the attributes of each failure event on these spans, in order."""
    return [
        dict(event.attributes)
        for span in spans
        for event in span.events
        if event.name == EVENT_NAME
    ]


def sdk_spans(path: Path) -> Iterator[ReadableSpan]:
    """Yield each span of a file of OTLP JSON lines.

    Only value types that failgraph and contrib's instrumentations write are supported.
    """
    for line in path.read_bytes().splitlines():
        for resource_spans in json.loads(line)["resourceSpans"]:
            resource = Resource(_attributes(resource_spans["resource"]))
            for scope_spans in resource_spans["scopeSpans"]:
                scope = scope_spans["scope"]
                scope = InstrumentationScope(
                    scope["name"], scope.get("version"), attributes=_attributes(scope)
                )
                yield from (_span(span, resource, scope) for span in scope_spans["spans"])


def _span(span: dict[str, Any], resource: Resource, scope: InstrumentationScope) -> ReadableSpan:
    trace_id, parent_id = span["traceId"], span.get("parentSpanId")
    is_remote = bool(span.get("flags", 0) & IS_REMOTE)
    status = span.get("status", {})
    return ReadableSpan(
        name=span["name"],
        context=_context(trace_id, span["spanId"]),
        parent=_context(trace_id, parent_id, is_remote=is_remote) if parent_id else None,
        resource=resource,
        attributes=_attributes(span),
        events=[
            Event(each["name"], _attributes(each), int(each["timeUnixNano"]))
            for each in span.get("events", ())
        ],
        links=[
            Link(_context(each["traceId"], each["spanId"]), _attributes(each))
            for each in span.get("links", ())
        ],
        kind=SpanKind(span["kind"] - 1),
        status=Status(StatusCode(status.get("code", 0)), status.get("message")),
        start_time=int(span["startTimeUnixNano"]),
        end_time=int(span["endTimeUnixNano"]),
        instrumentation_scope=scope,
    )


def _context(trace_id: str, span_id: str, *, is_remote: bool = False) -> SpanContext:
    return SpanContext(
        int(trace_id, 16), int(span_id, 16), is_remote, TraceFlags(TraceFlags.SAMPLED)
    )


def _attributes(holder: dict[str, Any]) -> dict[str, Any]:
    return {pair["key"]: _value(pair["value"]) for pair in holder.get("attributes", ())}


def _value(value: dict[str, Any]) -> Any:
    ((kind, content),) = value.items()
    if kind == "arrayValue":
        return tuple(_value(item) for item in content.get("values", ()))
    return int(content) if kind == "intValue" else content
