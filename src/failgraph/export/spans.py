"""Spans of OpenTelemetry's SDK, made of saved attempts and journal failures.

The same input always gives the same bytes, so that an export can be repeated.
"""

from __future__ import annotations

import functools
from importlib.metadata import PackageNotFoundError, version

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from failgraph.export.inputs import FailureInput, JournalFailure, SavedAttempt
from failgraph.readers.journal_spans import event_attributes, failure_span_attributes
from failgraph.readers.row_attempts import RowAttempt
from failgraph.readers.row_spans import (
    SPAN_NAME,
    attempt_attributes,
    attempt_events,
    attempt_failure_kind,
    attempt_service,
)
from failgraph.redaction import redact, redact_event
from failgraph.semconv import EVENT_NAME
from failgraph.text import sanitize, truncate


def span_of(item: FailureInput) -> ReadableSpan:
    """Return the redacted span of an attempt or of a journal's failure."""
    return _attempt_span(item) if isinstance(item, SavedAttempt) else _failure_span(item)


def _failure_span(failure: JournalFailure) -> ReadableSpan:
    """Return a failure span, a child of the span that the failure was observed on."""
    line = failure.line._replace(event=redact_event(failure.line.event))
    ids = failure.ids
    parent = None
    if ids.parent_span_id is not None:
        parent = _context(ids.trace_id, ids.parent_span_id)
    return ReadableSpan(
        name=EVENT_NAME,
        context=_context(ids.trace_id, ids.span_id),
        parent=parent,
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


def _attempt_span(saved: SavedAttempt) -> ReadableSpan:
    """Return the span of an attempt, timed by its response or else by its file's last write."""
    attempt = _redacted(saved.attempt)
    time_unix_nano = saved.written_unix_nano
    if attempt.created_s is not None:
        time_unix_nano = int(attempt.created_s * 1_000_000) * 1000
    kind = attempt_failure_kind(attempt)
    status = Status(StatusCode.UNSET)
    if kind is not None:
        status = Status(StatusCode.ERROR, truncate(kind, 200))
    return ReadableSpan(
        name=SPAN_NAME,
        context=_context(attempt.trace_id, attempt.span_id),
        resource=_resource(attempt_service(attempt)),
        attributes=attempt_attributes(attempt),
        events=[
            Event(EVENT_NAME, attributes, time_unix_nano) for attributes in attempt_events(attempt)
        ],
        kind=SpanKind.INTERNAL,
        status=status,
        start_time=time_unix_nano,
        end_time=time_unix_nano,
        instrumentation_scope=_scope(),
    )


def _redacted(attempt: RowAttempt) -> RowAttempt:
    return attempt._replace(
        server=sanitize(redact(attempt.server), 80),
        events={key: redact_event(event) for key, event in attempt.events.items()},
    )


@functools.lru_cache(maxsize=256)
def _resource(service: str) -> Resource:
    # `Resource.create` would add attributes of this machine, where the rows were not made.
    return Resource({"service.name": service})


@functools.cache
def _scope() -> InstrumentationScope:
    try:
        return InstrumentationScope("failgraph.export", version("failgraph"))
    except PackageNotFoundError:  # copied, not installed
        return InstrumentationScope("failgraph.export")
