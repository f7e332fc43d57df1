"""Turn OTLP JSON into spans: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding.

Also takes what other writers make of it: `batches` for `resourceSpans`, the older
`instrumentationLibrarySpans`, and the spellings in `otlp_fields`. Only what failgraph needs is
taken, since resource attributes may hold tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from failgraph import semconv
from failgraph.readers.api_responses import WARNINGS, original_end, truncation_warning
from failgraph.readers.json_values import DocumentContext, fingerprint, non_negative
from failgraph.readers.otlp_fields import (
    attributes,
    dropped_count,
    get,
    hex_id,
    parent_id,
    span_kind,
    status_code,
)
from failgraph.readers.skimming.typed_json import ResourceSpans, parsed_resource
from failgraph.text import interned
from failgraph.traces.spans import EventRecord, SpanRecord

_MAX_PROCESSES = 256
_RESOURCE_KEYS = frozenset({"service.name"})
_SPAN_KEYS = frozenset({semconv.ROLLOUT_ID, WARNINGS})
_NO_KEYS: frozenset[str] = frozenset()


class _Process(NamedTuple):
    """A resource, as `SpanRecord` needs it."""

    service: str
    process: int


def otlp_spans(document: Mapping[str, object], context: DocumentContext) -> Iterator[SpanRecord]:
    """Yield the spans of a document. Parts of a wrong type are added to the context's summary."""
    for name in ("resourceSpans", "batches"):
        for resource_spans in context.list(get(document, name), name):
            yield from _resource_spans(context.dict(resource_spans, name), context)


def _resource_spans(
    resource_spans: Mapping[str, object], context: DocumentContext
) -> Iterator[SpanRecord]:
    process = _process(resource_spans.get("resource"), context)
    for name in ("scopeSpans", "instrumentationLibrarySpans"):
        for item in context.list(get(resource_spans, name), name):
            scope_spans = context.dict(item, name)
            spans = context.list(scope_spans.get("spans"), "spans")
            yield from _records(spans, process, context)


class SkimmedSpanReader:
    """Turn the spans that skimming left over into records. Remembers resources: they repeat."""

    def __init__(self) -> None:
        self._processes: dict[bytes, _Process] = {}

    def spans(
        self, resources: Iterable[ResourceSpans], context: DocumentContext
    ) -> Iterator[SpanRecord]:
        """Yield what `otlp_spans` would yield for these spans. Their resources are valid."""
        for resource, spans in resources:
            process = self._processes.get(resource)
            if process is None:
                if len(self._processes) == _MAX_PROCESSES:
                    self._processes.clear()
                process = _process(parsed_resource(resource), context)
                self._processes[resource] = process
            yield from _records(spans, process, context)


def _process(resource: object, context: DocumentContext) -> _Process:
    pairs = context.dict(resource, "resource").get("attributes")
    service = attributes(pairs, _RESOURCE_KEYS, context).get("service.name")
    return _Process(service if isinstance(service, str) else "", fingerprint(pairs))


def _records(
    spans: Iterable[object], process: _Process, context: DocumentContext
) -> Iterator[SpanRecord]:
    for span in spans:
        fields = context.dict(span, "a span")
        trace_id = hex_id(get(fields, "traceId"), 16)
        if context.trace_ids is not None and trace_id not in context.trace_ids:
            continue
        record = _record(fields, trace_id, process, context)
        if record is None:
            context.add_problem("a span without a valid id")
        else:
            yield record


def _record(
    span: Mapping[str, object], trace_id: str | None, process: _Process, context: DocumentContext
) -> SpanRecord | None:
    """Return the span, or None if its trace id or span id is unusable."""
    span_id = hex_id(get(span, "spanId"), 8)
    if trace_id is None or span_id is None:
        return None
    span_attributes = attributes(span.get("attributes"), _SPAN_KEYS, context)
    warnings = span_attributes.pop(WARNINGS, None)
    end = original_end(warnings)
    warning = truncation_warning(warnings)
    if warning is not None:
        context.summary.add_partial_trace(trace_id, warning)
    return SpanRecord(
        trace_id=interned(trace_id),
        span_id=span_id,
        parent_span_id=parent_id(get(span, "parentSpanId")),
        name=interned(context.text(span.get("name"), "the name of a span")),
        kind=span_kind(span.get("kind"), context),
        start_unix_nano=non_negative(get(span, "startTimeUnixNano")),
        end_unix_nano=non_negative(get(span, "endTimeUnixNano")) if end is None else end,
        service=process.service,
        process=process.process,
        attributes=span_attributes,
        events=tuple(_events(span.get("events"), context)),
        dropped=dropped_count(span, "droppedEventsCount", context)
        + dropped_count(span, "droppedAttributesCount", context),
        status=status_code(context.dict(span.get("status"), "the status of a span").get("code")),
    )


def _events(events: object, context: DocumentContext) -> Iterator[EventRecord]:
    """Yield the failure events of a span."""
    for item in context.list(events, "events"):
        event = context.dict(item, "an event")
        if context.text(event.get("name"), "the name of an event") == semconv.EVENT_NAME:
            pairs = attributes(event.get("attributes"), _NO_KEYS, context)
            yield EventRecord(non_negative(get(event, "timeUnixNano")), pairs)
