"""An attempt, or a journal's failure, as a span of OpenTelemetry's SDK: the same bytes each time it is made."""

from __future__ import annotations

import functools
from importlib.metadata import PackageNotFoundError, version

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from failgraph.export.inputs import Kept, Saved
from failgraph.readers.journal_spans import event_attributes, failure_span_attributes
from failgraph.readers.row_attempts import Attempt
from failgraph.readers.row_spans import SPAN_NAME, attributes_of, events_of, failed_with, service_of
from failgraph.redaction import redact, redact_event
from failgraph.semconv import EVENT_NAME
from failgraph.text import cut, sanitize


def span_of(found: Saved | Kept) -> ReadableSpan:
    """The span of what was found, redacted."""
    return _of_attempt(found) if isinstance(found, Saved) else _of_line(found)


def _of_line(kept: Kept) -> ReadableSpan:
    """A failure span below the span that the failure was observed on."""
    line, place = kept.line._replace(event=redact_event(kept.line.event)), kept.place
    return ReadableSpan(
        name=EVENT_NAME,
        context=_context(place.trace_id, place.span_id),
        parent=None
        if place.parent_span_id is None
        else _context(place.trace_id, place.parent_span_id),
        resource=_resource(sanitize(redact(line.service), 80)),
        attributes=failure_span_attributes(),
        events=[Event(EVENT_NAME, event_attributes(line), line.time_unix_nano)],
        kind=SpanKind.INTERNAL,
        start_time=line.time_unix_nano,
        end_time=line.time_unix_nano,
        instrumentation_scope=_scope(),
    )


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), False, TraceFlags(TraceFlags.SAMPLED))


def _of_attempt(saved: Saved) -> ReadableSpan:
    """The span of an attempt. It stands where its response was made, else where its file was written."""
    attempt = _redacted(saved.attempt)
    created = attempt.created_s
    at = saved.written_unix_nano if created is None else int(created * 1_000_000) * 1000
    kind = failed_with(attempt)
    return ReadableSpan(
        name=SPAN_NAME,
        context=_context(attempt.trace_id, attempt.span_id),
        resource=_resource(service_of(attempt)),
        attributes=attributes_of(attempt),
        events=[Event(EVENT_NAME, attributes, at) for attributes in events_of(attempt)],
        kind=SpanKind.INTERNAL,
        status=Status(StatusCode.UNSET)
        if kind is None
        else Status(StatusCode.ERROR, cut(kind, 200)),
        start_time=at,
        end_time=at,
        instrumentation_scope=_scope(),
    )


def _redacted(attempt: Attempt) -> Attempt:
    return attempt._replace(
        server=sanitize(redact(attempt.server), 80),
        events={key: redact_event(event) for key, event in attempt.events.items()},
    )


@functools.lru_cache(maxsize=256)
def _resource(service: str) -> Resource:
    # Not `Resource.create`, which would add what this machine is: the rows are of another time and place.
    return Resource({"service.name": service})


@functools.cache
def _scope() -> InstrumentationScope:
    try:
        return InstrumentationScope("failgraph.import", version("failgraph"))
    except PackageNotFoundError:  # a package that was only copied
        return InstrumentationScope("failgraph.import")
