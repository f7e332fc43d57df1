"""A trace of Jaeger's own JSON to spans: what its UI reads and downloads, and its API `/api/traces` answers.

Microseconds; types written out beside values; arrays as JSON text; processes apart; the parent among the references.
Takes only what failgraph needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from failgraph import semconv
from failgraph.readers.api_responses import left_out, replaced_end
from failgraph.readers.json_parts import At, array, count, fingerprint, integer
from failgraph.traces.spans import KINDS, EventRecord, SpanRecord, Value

_HEX = re.compile(r"[0-9a-fA-F]+")
_NAME = "event"
"""The field of a log that holds the name of an OpenTelemetry event."""
_KIND, _ERROR, _CODE = "span.kind", "error", "otel.status_code"
_SPAN_TAGS = frozenset({semconv.ROLLOUT_ID, _KIND, _ERROR, _CODE})
_NO_SERVICE = "OTLPResourceNoServiceName"
"""What Jaeger calls the service of a resource that says nothing at all."""


class _Process(NamedTuple):
    service: str
    process: int


class _Trace(NamedTuple):
    """What the spans of one trace share."""

    trace_id: object
    processes: Mapping[str, _Process]
    starts: Mapping[str, int]
    """Of the spans that are there."""


def jaeger_spans(trace: Mapping[str, object], at: At) -> Iterator[SpanRecord]:
    """The spans of one trace; what of it is of the wrong type is said."""
    spans = [at.dict(span, "a span") for span in at.list(trace.get("spans"), "spans")]
    starts = {_id(span.get("spanID"), 16) or "": count(span.get("startTime")) for span in spans}
    processes = at.dict(trace.get("processes"), "processes")
    shared = _Trace(
        trace.get("traceID"), {key: _process(each, at) for key, each in processes.items()}, starts
    )
    some: str | None = None
    for span in spans:
        record = _span(span, shared, at)
        if record is None:
            at.wrong("a span without a usable id")
            continue
        some = record.trace_id
        _warned(span.get("warnings"), record.trace_id, at)
        yield record
    if some is not None:
        _warned(trace.get("warnings"), some, at)


def _warned(warnings: object, trace_id: str, at: At) -> None:
    why = left_out(warnings)
    if why is not None:
        at.bad.found.partial.setdefault(trace_id, why)


def _process(value: object, at: At) -> _Process:
    process = at.dict(value, "a process")
    service, tags = (
        at.text(process.get("serviceName"), "the name of a service"),
        process.get("tags"),
    )
    ordered = sorted(map(fingerprint, tags)) if isinstance(tags, list) else []
    return _Process("" if service == _NO_SERVICE else service, fingerprint([service, ordered]))


def _span(span: Mapping[str, object], trace: _Trace, at: At) -> SpanRecord | None:
    trace_id = _id(span.get("traceID") or trace.trace_id, 32)
    span_id = _id(span.get("spanID"), 16)
    if trace_id is None or span_id is None:
        return None
    process = _process_of(span, trace, at)
    tags = _attributes(span.get("tags"), _SPAN_TAGS, at)
    code = tags.pop(_CODE, None)
    failed = tags.pop(_ERROR, None) in (True, "true")
    kind = _kind(tags.pop(_KIND, None), at)
    start = 1000 * count(span.get("startTime"))
    return SpanRecord(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=_parent(span, trace_id, trace, at),
        name=at.text(span.get("operationName"), "the name of a span"),
        kind=kind,
        start_unix_nano=start,
        end_unix_nano=_end(span, start),
        service=process.service,
        process=process.process,
        attributes=tags,
        events=tuple(_events(span.get("logs"), at)),
        dropped=0,
        status=code if code == "OK" or code == "ERROR" else "ERROR" if failed else "",
    )


def _process_of(span: Mapping[str, object], trace: _Trace, at: At) -> _Process:
    key = span.get("processID")
    if isinstance(key, str) and key in trace.processes:
        return trace.processes[key]
    if "process" in span:
        return _process(span["process"], at)
    if key is not None:
        at.wrong("a span of a process that is not there")
    return _Process("", fingerprint(key))


def _end(span: Mapping[str, object], start: int) -> int:
    """The end in ns; 0 where there is none."""
    replaced = replaced_end(span.get("warnings"))
    if replaced is not None:
        return replaced
    duration = integer(span.get("duration"))
    if duration is None:
        return 0
    # A duration below zero, as of a span without an end, is written as an unsigned number.
    return max(0, start + 1000 * (duration - 2**64 if duration >= 2**63 else duration))


def _parent(span: Mapping[str, object], trace_id: str, trace: _Trace, at: At) -> str | None:
    """The first reference CHILD_OF into the trace; or the one that a link to the parent has taken the place of."""
    follows: str | None = None
    for position, item in enumerate(at.list(span.get("references"), "references")):
        reference = at.dict(item, "a reference")
        if _id(reference.get("traceID"), 32) != trace_id:
            continue
        kind, parent = reference.get("refType"), _parent_id(reference.get("spanID"))
        if kind == "CHILD_OF" and parent is not None:
            return parent
        # Such a one stands first, as a link of a span without a parent may. A parent starts before its child, and what
        # a root links to in its own trace does not.
        if (
            kind == "FOLLOWS_FROM"
            and position == 0
            and parent is not None
            and parent in trace.starts
        ):
            follows = parent if trace.starts[parent] < count(span.get("startTime")) else None
    return _parent_id(span.get("parentSpanID")) or follows


def _parent_id(value: object) -> str | None:
    """The parent's id; one that is no id is kept as it is: a parent that the source does not hold."""
    if not isinstance(value, str):
        return None if value is None else "no id"
    return _id(value, 16) or (value[:32] if value.strip("0") else None)


def _id(value: object, digits: int) -> str | None:
    """An id of so many hex digits, given with or without its leading zeros; None where it is none, or all zero."""
    if not isinstance(value, str) or len(value) > digits or not _HEX.fullmatch(value):
        return None
    return value.lower().zfill(digits) if value.strip("0") else None


def _kind(value: object, at: At) -> str:
    name = value.upper() if isinstance(value, str) else ""
    if value is not None and name not in KINDS:
        at.wrong("the kind of a span is none")
        return ""
    return name


def _events(logs: object, at: At) -> Iterator[EventRecord]:
    for item in at.list(logs, "logs"):
        log = at.dict(item, "a log")
        fields = at.list(log.get("fields"), "fields")
        names = [
            field.get("value")
            for field in fields
            if isinstance(field, dict) and field.get("key") == _NAME
        ]
        attributes = _attributes(fields, frozenset(), at)
        # An attribute that is itself keyed so has taken the place of the name.
        if semconv.EVENT_NAME in names or (names and semconv.ID in attributes):
            yield EventRecord(1000 * count(log.get("timestamp")), attributes)


def _attributes(tags: object, others: frozenset[str], at: At) -> dict[str, Value]:
    """The attributes under our prefix, and those of `others`."""
    found: dict[str, Value] = {}
    for item in at.list(tags, "tags"):
        tag = at.dict(item, "a tag")
        key = tag.get("key")
        if isinstance(key, str) and (key.startswith(semconv.PREFIX) or key in others):
            found[key] = _value(key, tag.get("type"), tag.get("value"))
    return found


def _value(key: str, type_: object, value: object) -> Value:
    """The value of a tag; None for one of a type that failgraph never writes, which is then told as such."""
    if semconv.is_array(key):
        return array(value)
    if type_ == "int64":
        return integer(value)
    if type_ == "bool" and isinstance(value, str):
        return {"true": True, "false": False}.get(value)
    if type_ == "binary" or not isinstance(value, (str, bool, int, float)):
        return None
    return value
