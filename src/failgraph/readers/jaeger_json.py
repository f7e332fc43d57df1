"""Turn traces in Jaeger's v1 JSON into spans.

That is what its UI reads and downloads, and what `/api/traces` returns. Times are in µs, each tag
names its type, arrays are JSON text, processes stand beside the spans, and the parent is one of the
references. Only what failgraph needs is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from failgraph import semconv
from failgraph.readers.api_responses import original_end, truncation_warning
from failgraph.readers.json_values import (
    DocumentContext,
    array,
    fingerprint,
    integer,
    non_negative,
)
from failgraph.traces.spans import KINDS, EventRecord, SpanRecord, Value

_HEX = re.compile(r"[0-9a-fA-F]+")
_EVENT_NAME = "event"  # the field of a log with the name of an OpenTelemetry event
_KIND, _ERROR, _CODE = "span.kind", "error", "otel.status_code"
_SPAN_TAGS = frozenset({semconv.ROLLOUT_ID, _KIND, _ERROR, _CODE})
_NO_SERVICE = "OTLPResourceNoServiceName"  # Jaeger's service name for an empty resource


class _Process(NamedTuple):
    """A process of a trace, as `SpanRecord` needs it."""

    service: str
    process: int


class _SharedFields(NamedTuple):
    """What the spans of one trace share."""

    trace_id: object
    processes: Mapping[str, _Process]
    starts: Mapping[str, int]  # in µs, by span id


def jaeger_spans(trace: Mapping[str, object], context: DocumentContext) -> Iterator[SpanRecord]:
    """Yield the spans of one trace. Parts of a wrong type are added to the context's summary."""
    spans = [context.dict(span, "a span") for span in context.list(trace.get("spans"), "spans")]
    processes = context.dict(trace.get("processes"), "processes")
    shared = _SharedFields(
        trace.get("traceID"),
        {key: _process(process, context) for key, process in processes.items()},
        {_id(span.get("spanID"), 16) or "": non_negative(span.get("startTime")) for span in spans},
    )
    trace_id: str | None = None
    for span in spans:
        record = _span(span, shared, context)
        if record is None:
            context.add_problem("a span without a valid id")
            continue
        trace_id = record.trace_id
        _check_truncation(span.get("warnings"), trace_id, context)
        yield record
    if trace_id is not None:
        _check_truncation(trace.get("warnings"), trace_id, context)


def _check_truncation(warnings: object, trace_id: str, context: DocumentContext) -> None:
    warning = truncation_warning(warnings)
    if warning is not None:
        context.summary.add_partial_trace(trace_id, warning)


def _process(value: object, context: DocumentContext) -> _Process:
    process = context.dict(value, "a process")
    service = context.text(process.get("serviceName"), "the name of a service")
    tags = process.get("tags")
    fingerprints = sorted(map(fingerprint, tags)) if isinstance(tags, list) else []
    number = fingerprint([service, fingerprints])
    return _Process("" if service == _NO_SERVICE else service, number)


def _span(
    span: Mapping[str, object], shared: _SharedFields, context: DocumentContext
) -> SpanRecord | None:
    """Return the span, or None if its trace id or span id is unusable."""
    trace_id = _id(span.get("traceID") or shared.trace_id, 32)
    span_id = _id(span.get("spanID"), 16)
    if trace_id is None or span_id is None:
        return None
    process = _process_of(span, shared, context)
    tags = _attributes(span.get("tags"), _SPAN_TAGS, context)
    status = _status(tags.pop(_CODE, None), tags.pop(_ERROR, None))
    kind = _kind(tags.pop(_KIND, None), context)
    start = 1000 * non_negative(span.get("startTime"))
    return SpanRecord(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=_parent(span, trace_id, shared, context),
        name=context.text(span.get("operationName"), "the name of a span"),
        kind=kind,
        start_unix_nano=start,
        end_unix_nano=_end(span, start),
        service=process.service,
        process=process.process,
        attributes=tags,
        events=tuple(_events(span.get("logs"), context)),
        dropped=0,
        status=status,
    )


def _process_of(
    span: Mapping[str, object], shared: _SharedFields, context: DocumentContext
) -> _Process:
    key = span.get("processID")
    if isinstance(key, str) and key in shared.processes:
        return shared.processes[key]
    if "process" in span:
        return _process(span["process"], context)
    if key is not None:
        context.add_problem("a span of an unknown process")
    return _Process("", fingerprint(key))


def _status(code: object, error: object) -> str:
    if code == "OK" or code == "ERROR":
        return str(code)
    return "ERROR" if error in (True, "true") else ""


def _end(span: Mapping[str, object], start: int) -> int:
    """Return the end in ns since the epoch, or 0 if the span has none."""
    original = original_end(span.get("warnings"))
    if original is not None:
        return original
    duration = integer(span.get("duration"))
    if duration is None:
        return 0
    # Jaeger writes a negative duration, as of a span without an end, as an unsigned number.
    if duration >= 2**63:
        duration -= 2**64
    return max(0, start + 1000 * duration)


def _parent(
    span: Mapping[str, object], trace_id: str, shared: _SharedFields, context: DocumentContext
) -> str | None:
    """Return the first CHILD_OF reference in this trace, or the link that took its place."""
    link: str | None = None
    for position, item in enumerate(context.list(span.get("references"), "references")):
        reference = context.dict(item, "a reference")
        if _id(reference.get("traceID"), 32) != trace_id:
            continue
        kind, parent = reference.get("refType"), _parent_id(reference.get("spanID"))
        if kind == "CHILD_OF" and parent is not None:
            return parent
        # In Jaeger a link to the parent replaces the CHILD_OF reference, and stands first. The
        # first link of a root stands there, too, but what it leads to does not start earlier.
        is_first_link = kind == "FOLLOWS_FROM" and position == 0
        if is_first_link and parent is not None and parent in shared.starts:
            is_earlier = shared.starts[parent] < non_negative(span.get("startTime"))
            link = parent if is_earlier else None
    return _parent_id(span.get("parentSpanID")) or link


def _parent_id(value: object) -> str | None:
    """Return the parent's id. An invalid one is kept: a parent that the source does not hold."""
    if not isinstance(value, str):
        return None if value is None else "no id"
    return _id(value, 16) or (value[:32] if value.strip("0") else None)


def _id(value: object, digits: int) -> str | None:
    """Return an id with all its hex digits, or None if it is invalid or zero.

    Jaeger leaves out leading zeros.
    """
    if not isinstance(value, str) or len(value) > digits or not _HEX.fullmatch(value):
        return None
    return value.lower().zfill(digits) if value.strip("0") else None


def _kind(value: object, context: DocumentContext) -> str:
    name = value.upper() if isinstance(value, str) else ""
    if value is not None and name not in KINDS:
        context.add_problem("a span with an invalid kind")
        return ""
    return name


def _events(logs: object, context: DocumentContext) -> Iterator[EventRecord]:
    """Yield the failure events among the logs of a span."""
    for item in context.list(logs, "logs"):
        log = context.dict(item, "a log")
        fields = context.list(log.get("fields"), "fields")
        names = [
            field.get("value")
            for field in fields
            if isinstance(field, dict) and field.get("key") == _EVENT_NAME
        ]
        attributes = _attributes(fields, frozenset(), context)
        # An attribute with the key "event" replaces the name of the event.
        if semconv.EVENT_NAME in names or (names and semconv.ID in attributes):
            yield EventRecord(1000 * non_negative(log.get("timestamp")), attributes)


def _attributes(tags: object, others: frozenset[str], context: DocumentContext) -> dict[str, Value]:
    """Return the attributes with failgraph's prefix, and those named in `others`."""
    attributes: dict[str, Value] = {}
    for item in context.list(tags, "tags"):
        tag = context.dict(item, "a tag")
        key = tag.get("key")
        if isinstance(key, str) and (key.startswith(semconv.PREFIX) or key in others):
            attributes[key] = _value(key, tag.get("type"), tag.get("value"))
    return attributes


def _value(key: str, type_: object, value: object) -> Value:
    """Return the value of a tag, or None if its type is not one that failgraph writes.

    The codec reports such an attribute as unreadable.
    """
    if semconv.is_array(key):
        return array(value)
    if type_ == "int64":
        return integer(value)
    if type_ == "bool" and isinstance(value, str):
        return {"true": True, "false": False}.get(value)
    if type_ == "binary" or not isinstance(value, (str, bool, int, float)):
        return None
    return value
