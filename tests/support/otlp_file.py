"""OTLP JSON as a collector or an SDK writes it, built by hand: what the reader, view and command-line tests read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from failgraph import FailureEvent
from failgraph.codec import encode_event

SECOND = 1_000_000_000
T0 = 1_700_000_000 * SECOND
"""The start of a trace, in ns since the epoch."""
TRACE = "0af7651916cd43dd8448eb211c80319c"
PREFIX = "nemo.gym.failure."
INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER = 1, 2, 3, 4, 5


def any_value(value: object) -> dict[str, Any]:
    """An `AnyValue`: 64-bit integers are text in OTLP JSON."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, str):
        return {"stringValue": value}
    assert isinstance(value, (list, tuple))
    return {"arrayValue": {"values": [any_value(item) for item in value]}}


def pairs(attributes: Mapping[str, object]) -> list[dict[str, Any]]:
    """Attributes as `KeyValue`s."""
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def seen(record: FailureEvent, at: int = 0, **options: Any) -> dict[str, Any]:
    """`record` as a span event, `at` ns after T0; the options are those of `encode_event`."""
    return raw_event(encode_event(record, **options), at)


def raw_event(
    attributes: Mapping[str, object], at: int = 0, name: str = "nemo.gym.failure"
) -> dict[str, Any]:
    """A span event of any attributes."""
    return {"timeUnixNano": str(T0 + at), "name": name, "attributes": pairs(attributes)}


def reported(*ids: str, own: str | None = None, omitted: bool = False) -> dict[str, object]:
    """The attributes of a hop that wrote down `ids`."""
    found: dict[str, object] = {PREFIX + "schema_version": 1, PREFIX + "report.ids": ids}
    if own is not None:
        found[PREFIX + "report.id"] = own
    if omitted:
        found[PREFIX + "report.omitted"] = True
    return found


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
    """A span whose id is `number` in hex; `start` and `end` in ns after T0, an `end` of None is no end."""
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
    number: int, parent: int, happened: dict[str, Any], **others: Any
) -> dict[str, Any]:
    """A span made only to hold a failure."""
    return span(
        number,
        parent,
        happened,
        name="nemo.gym.failure",
        attributes={PREFIX + "failure_span": True},
        **others,
    )


def process(*spans: dict[str, Any], service: str = "gym", **resource: object) -> dict[str, Any]:
    """The spans of one process, as a `TracesData` document."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": pairs({"service.name": service, **resource})},
                "scopeSpans": [{"scope": {"name": "test"}, "spans": list(spans)}],
            }
        ]
    }


def write(path: Path, *documents: object) -> Path:
    """OTLP JSON lines; a document that is bytes is written as it is."""
    lines = [
        document if isinstance(document, bytes) else json.dumps(document).encode()
        for document in documents
    ]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path
