"""Build OTLP JSON as a Collector or an SDK writes it: the input of tests that read traces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from failgraph import FailureEvent
from failgraph.codec import encode_event

SECOND = 1_000_000_000
T0 = 1_700_000_000 * SECOND  # the start of a trace, in ns since the epoch
TRACE = "0af7651916cd43dd8448eb211c80319c"
PREFIX = "nemo.gym.failure."
INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER = 1, 2, 3, 4, 5


def any_value(value: object) -> dict[str, Any]:
    """Return an `AnyValue`; in OTLP JSON 64-bit integers are text."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, str):
        return {"stringValue": value}
    assert isinstance(value, (list, tuple))
    return {"arrayValue": {"values": [any_value(item) for item in value]}}


def pairs(attributes: Mapping[str, object]) -> list[dict[str, Any]]:
    """Return attributes as a list of `KeyValue`."""
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def seen(record: FailureEvent, at: int = 0, **options: Any) -> dict[str, Any]:
    """Return the span event of a failure, `at` ns after T0.

    The options are those of `encode_event`.
    """
    return raw_event(encode_event(record, **options), at)


def raw_event(
    attributes: Mapping[str, object], at: int = 0, name: str = "nemo.gym.failure"
) -> dict[str, Any]:
    """Return a span event with these attributes, `at` ns after T0."""
    return {"timeUnixNano": str(T0 + at), "name": name, "attributes": pairs(attributes)}


def reported(*ids: str, own: str | None = None, omitted: bool = False) -> dict[str, object]:
    """Return the attributes of a hop whose report holds the failures `ids`."""
    attributes: dict[str, object] = {PREFIX + "schema_version": 1, PREFIX + "report.ids": ids}
    if own is not None:
        attributes[PREFIX + "report.id"] = own
    if omitted:
        attributes[PREFIX + "report.omitted"] = True
    return attributes


def span(
    number: int,
    parent: int | None = None,
    *events: dict[str, Any],
    name: str | None = None,
    kind: int = INTERNAL,
    start: int = 0,
    end: int | None = SECOND,
    trace: str = TRACE,
    attributes: Mapping[str, object] | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return a span.

    Args:
        number: Its id, as a number.
        parent: The id of its parent, as a number.
        events: Its events.
        name: Its name; by default made from `number`.
        kind: Its kind, as OTLP's number.
        start: Its start, in ns after T0.
        end: Its end, in ns after T0, or None for a span without an end.
        trace: Its trace id.
        attributes: Its attributes.
        others: More fields of the OTLP span, such as `status` and `links`.
    """
    fields: dict[str, Any] = {
        "traceId": trace,
        "spanId": f"{number:016x}",
        "name": f"span-{number}" if name is None else name,
        "kind": kind,
        "startTimeUnixNano": str(T0 + start),
        "attributes": pairs(attributes or {}),
        "events": list(events),
        **others,
    }
    if parent is not None:
        fields["parentSpanId"] = f"{parent:016x}"
    if end is not None:
        fields["endTimeUnixNano"] = str(T0 + end)
    return fields


def failure_span(
    number: int, parent: int, failure: dict[str, Any], **others: Any
) -> dict[str, Any]:
    """Return a span that failgraph made only to hold a failure event."""
    return span(
        number,
        parent,
        failure,
        name="nemo.gym.failure",
        attributes={PREFIX + "failure_span": True},
        **others,
    )


def process(*spans: dict[str, Any], service: str = "gym", **resource: object) -> dict[str, Any]:
    """Return a `TracesData` document with the spans of one process."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": pairs({"service.name": service, **resource})},
                "scopeSpans": [{"scope": {"name": "test"}, "spans": list(spans)}],
            }
        ]
    }


def write(path: Path, *documents: object) -> Path:
    """Write documents as OTLP JSON lines, bytes as they are, and return the path."""
    lines = [
        document if isinstance(document, bytes) else json.dumps(document).encode()
        for document in documents
    ]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path
