"""Write files of spans as exporters do, of any size, with failures or without."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench.running import usual
from failgraph import FailureEvent
from otlp_file import T0, pairs, process, seen

TRACE_SPANS = 5  # a root and four children
_HTTP = {
    "http.request.method": "POST",
    "url.full": "http://127.0.0.1:8000/v1/responses",
    "server.address": "127.0.0.1",
    "network.protocol.version": "1.1",
    "http.response.status_code": 200,
}
_RESOURCE = {
    "telemetry.sdk.language": "python",
    "telemetry.sdk.name": "opentelemetry",
    "host.name": "node-17",
}


def span(number: int, *events: FailureEvent, of: int = TRACE_SPANS) -> dict[str, Any]:
    """Return span `number` of a file whose traces have `of` spans each."""
    trace, index = divmod(number, of)
    fields: dict[str, Any] = {
        "traceId": f"{trace * 0x9E3779B97F4A7C15 + 1:032x}"[-32:],
        "spanId": f"{number + 1:016x}",
        "name": "POST /v1/responses" if index else "rollout",
        "kind": 3 if index else 1,
        "startTimeUnixNano": str(T0 + trace * 1_000_000 + index * 1000),
        "endTimeUnixNano": str(T0 + trace * 1_000_000 + 900_000 - index * 1000),
        "attributes": pairs(_HTTP),
        "events": [
            seen(event, trace * 1_000_000 + 5000, seq=seq) for seq, event in enumerate(events)
        ],
        "status": {},
        "flags": 256,
    }
    if index:
        fields["parentSpanId"] = f"{trace * of + 1:016x}"
    return fields


def spans(count: int, *, failing: int = 100, of: int = TRACE_SPANS) -> Iterator[dict[str, Any]]:
    """Yield `count` spans; one of each `failing` holds a failure."""
    for number in range(count):
        events = []
        if number % failing == failing - 1:
            events.append(usual().model_copy(update={"cause_id": None}))
        yield span(number, *events, of=of)


def documents(all_spans: Iterable[dict[str, Any]], size: int) -> Iterator[dict[str, Any]]:
    """Yield documents of `size` spans each."""
    batch: list[dict[str, Any]] = []
    for each in all_spans:
        batch.append(each)
        if len(batch) == size:
            yield process(*batch, service="agent", **_RESOURCE)
            batch = []
    if batch:
        yield process(*batch, service="agent", **_RESOURCE)


def json_lines(path: Path, all_spans: Iterable[dict[str, Any]], a_line: int = 512) -> Path:
    """Write compact OTLP JSON with `a_line` spans a line, as the exporters do."""
    with path.open("wb") as file:
        for document in documents(all_spans, a_line):
            file.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")
    return path


def framed(path: Path, all_spans: Iterable[dict[str, Any]], a_message: int = 512) -> Path:
    """Write OTLP protobuf in length-prefixed messages, as the Collector does."""
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    with path.open("wb") as file:
        for document in documents(all_spans, a_message):
            for resource_spans in document["resourceSpans"]:
                for each in resource_spans["scopeSpans"][0]["spans"]:
                    _with_base64_ids(each)
            message = ParseDict(document, TracesData()).SerializeToString()
            file.write(len(message).to_bytes(4, "big") + message)
    return path


def _with_base64_ids(fields: dict[str, Any]) -> None:
    for name in ("traceId", "spanId", "parentSpanId"):
        if name in fields:
            fields[name] = base64.b64encode(bytes.fromhex(fields[name])).decode()
