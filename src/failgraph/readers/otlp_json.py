"""OTLP JSON to spans: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding.

Takes only what failgraph needs: a file may hold tokens as resource attributes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from failgraph import semconv
from failgraph.losses import Loss
from failgraph.readers.span import EventRecord, SpanRecord, Value

_DECIMAL = re.compile(r"-?[0-9]{1,20}")
_HEX = re.compile(r"[0-9a-fA-F]+")
_KINDS = ("", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_SCALARS = ("stringValue", "boolValue", "doubleValue")


def spans_of(document: object, line: int, losses: list[Loss]) -> Iterator[SpanRecord]:
    """The spans of one `TracesData` or `ExportTraceServiceRequest`; one without usable ids goes into `losses`."""
    for resource_spans in _list(_dict(document).get("resourceSpans")):
        resource = _dict(_dict(resource_spans).get("resource"))
        process = _fingerprint(resource.get("attributes"))
        service = _attributes(resource.get("attributes"), frozenset({"service.name"})).get("service.name")
        for scope_spans in _list(_dict(resource_spans).get("scopeSpans")):
            for span in _list(_dict(scope_spans).get("spans")):
                record = _span(_dict(span), service if isinstance(service, str) else "", process)
                if record is None:
                    losses.append(Loss("bad_line", f"line {line}: a span without a usable id"))
                else:
                    yield record


def _fingerprint(attributes: object) -> int:
    """A number that is equal for equal resources; of what a resource says nothing else is kept."""
    try:
        return hash(json.dumps(attributes, sort_keys=True))
    except RecursionError:
        return 0


def _span(span: Mapping[str, object], service: str, process: int) -> SpanRecord | None:
    trace_id, span_id = _id(span.get("traceId"), 32), _id(span.get("spanId"), 16)
    if trace_id is None or span_id is None:
        return None
    kind, name = _int(span.get("kind")), span.get("name")
    return SpanRecord(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=_id(span.get("parentSpanId"), 16),
        name=name if isinstance(name, str) else "",
        kind=_KINDS[kind] if 0 <= kind < len(_KINDS) else "",
        start_unix_nano=_int(span.get("startTimeUnixNano")),
        end_unix_nano=_int(span.get("endTimeUnixNano")),
        service=service,
        process=process,
        attributes=_attributes(span.get("attributes"), frozenset({semconv.ROLLOUT_ID})),
        events=tuple(
            EventRecord(_int(event.get("timeUnixNano")), _attributes(event.get("attributes"), frozenset()))
            for event in map(_dict, _list(span.get("events")))
            if event.get("name") == semconv.EVENT_NAME
        ),
        dropped=_int(span.get("droppedEventsCount")) + _int(span.get("droppedAttributesCount")),
    )


def _attributes(pairs: object, others: frozenset[str]) -> dict[str, Value]:
    """The attributes under our prefix, and those of `others`."""
    found: dict[str, Value] = {}
    for pair in map(_dict, _list(pairs)):
        key = pair.get("key")
        if isinstance(key, str) and (key.startswith(semconv.PREFIX) or key in others):
            found[key] = _value(pair.get("value"))
    return found


def _value(value: object) -> Value:
    """An `AnyValue`; None for one of a type that failgraph never writes."""
    fields = _dict(value)
    array = fields.get("arrayValue")
    if isinstance(array, dict):
        return [_scalar(_dict(item)) for item in _list(array.get("values"))]
    return _scalar(fields)


def _scalar(fields: Mapping[str, object]) -> Value:
    if "intValue" in fields:
        return _integer(fields["intValue"])
    return next((fields[name] for name in _SCALARS if name in fields), None)


def _id(value: object, length: int) -> str | None:
    """An id in lower-case hex; None where it is absent, no id, or all zero."""
    if not isinstance(value, str) or len(value) != length or not _HEX.fullmatch(value) or not value.strip("0"):
        return None
    return value.lower()


def _int(value: object) -> int:
    """A 64-bit integer, given as a number or as text; 0 for anything else."""
    return _integer(value) or 0


def _integer(value: object) -> int | None:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64 else None


def _dict(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
