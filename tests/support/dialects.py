"""OTLP JSON as the other dialects have it: stand-ins for Jaeger and Tempo, written from their documented APIs.

Jaeger's own JSON follows its UI model and the Collector's translator to Jaeger; stack/test_survival.py holds it against a
real one. Tempo's is the jsonpb and the wire form of its `Trace` and `TraceByIDResponse`; no Tempo can be built here.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

Document = dict[str, Any]
_KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
_STATUSES = ("UNSET", "OK", "ERROR")
_SAFE = 2**53 - 1
_ID_KEYS = frozenset({"traceId", "spanId", "parentSpanId"})


def merged(*documents: Document) -> Document:
    """Documents as one."""
    return {"resourceSpans": [each for document in documents for each in document["resourceSpans"]]}


def spans_of(document: Document) -> Iterator[tuple[Document, Document]]:
    """Each span with its resource."""
    for resource_spans in document["resourceSpans"]:
        for scope_spans in resource_spans["scopeSpans"]:
            for span in scope_spans["spans"]:
                yield resource_spans["resource"], span


# --- Jaeger


def jaeger_v1(document: Document) -> Document:
    """What `GET /api/traces` answers: all traces of a document."""
    traces: dict[str, Document] = {}
    for resource, span in spans_of(document):
        trace_id = short(span["traceId"])
        trace = traces.setdefault(
            trace_id, {"traceID": trace_id, "spans": [], "processes": {}, "warnings": None}
        )
        processes = trace["processes"]
        process = _process(resource)
        key = next(
            (key for key in processes if processes[key] == process), f"p{len(processes) + 1}"
        )
        processes[key] = process
        trace["spans"].append({**_v1_span(span), "processID": key, "warnings": None})
    return {
        "data": list(traces.values()),
        "total": len(traces),
        "limit": 0,
        "offset": 0,
        "errors": None,
    }


def short(trace_id: str) -> str:
    """A trace id as Jaeger prints it: 16 digits where the upper half is zero."""
    return trace_id[16:] if trace_id.startswith("0" * 16) else trace_id


def _process(resource: Document) -> Document:
    attributes = resource.get("attributes", [])
    names = [pair["value"]["stringValue"] for pair in attributes if pair["key"] == "service.name"]
    return {
        "serviceName": (names or [""])[0] if attributes else "OTLPResourceNoServiceName",
        "tags": _tags([pair for pair in attributes if pair["key"] != "service.name"]),
    }


def _v1_span(span: Document) -> Document:
    start = int(span.get("startTimeUnixNano", 0))
    # Go divides towards zero, and writes what is below zero as an unsigned number.
    duration = int(span.get("endTimeUnixNano", 0)) - start
    micros = abs(duration) // 1000 * (1 if duration >= 0 else -1)
    return {
        "traceID": short(span["traceId"]),
        "spanID": span["spanId"],
        "operationName": span["name"],
        "references": _references(span),
        "startTime": start // 1000,
        "duration": micros % 2**64,
        "tags": sorted(
            [*_tags(span.get("attributes", [])), *_own_tags(span)], key=lambda tag: tag["key"]
        ),
        "logs": [
            _log(event) for event in sorted(span.get("events", []), key=lambda event: event["name"])
        ],
    }


def _references(span: Document) -> list[Document]:
    trace_id, parent = span["traceId"], span.get("parentSpanId")
    found = (
        [{"refType": "CHILD_OF", "traceID": short(trace_id), "spanID": parent}] if parent else []
    )
    for link in span.get("links", []):
        reference = {
            "refType": "FOLLOWS_FROM",
            "traceID": short(link["traceId"]),
            "spanID": link["spanId"],
        }
        if (link["traceId"], link["spanId"]) == (trace_id, parent):
            found[0] = reference
        else:
            found.append(reference)
    return found


def _own_tags(span: Document) -> list[Document]:
    found = [("otel.scope.name", "test")]
    if span.get("kind"):
        found.append(("span.kind", _KINDS[span["kind"]]))
    status = span.get("status", {})
    if status.get("code"):
        found.append(("otel.status_code", _STATUSES[status["code"]]))
    if status.get("message"):
        found.append(("otel.status_description", status["message"]))
    tags = [{"key": key, "type": "string", "value": value} for key, value in found]
    return (
        [*tags, {"key": "error", "type": "bool", "value": True}]
        if status.get("code") == 2
        else tags
    )


def _log(event: Document) -> Document:
    fields = _tags(event.get("attributes", []))
    names = [field for field in fields if field["key"] == "event"]
    fields = [field for field in fields if field["key"] != "event"]
    fields[:0] = names or [{"key": "event", "type": "string", "value": event["name"]}]
    return {"timestamp": int(event.get("timeUnixNano", 0)) // 1000, "fields": fields}


def _tags(pairs: list[Document]) -> list[Document]:
    return [
        {"key": pair["key"], **_tag(pair["value"])}
        for pair in sorted(pairs, key=lambda pair: pair["key"])
    ]


def _tag(value: Document) -> Document:
    if "stringValue" in value:
        return {"type": "string", "value": value["stringValue"]}
    if "boolValue" in value:
        return {"type": "bool", "value": value["boolValue"]}
    if "intValue" in value:
        number = int(value["intValue"])
        return {"type": "int64", "value": number if -_SAFE <= number <= _SAFE else str(number)}
    if "doubleValue" in value:
        return {"type": "float64", "value": value["doubleValue"]}
    if "bytesValue" in value:
        return {"type": "binary", "value": value["bytesValue"]}
    return {"type": "string", "value": _go_json(_raw(value))}


def _raw(value: Document) -> Any:
    if "arrayValue" in value:
        return [_raw(item) for item in value["arrayValue"].get("values", [])]
    if "kvlistValue" in value:
        return {pair["key"]: _raw(pair["value"]) for pair in value["kvlistValue"]["values"]}
    return int(value["intValue"]) if "intValue" in value else next(iter(value.values()))


def _go_json(value: Any) -> str:
    """JSON as Go's encoder writes it: no spaces, and what HTML minds escaped."""
    found = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        found = found.replace(char, f"\\u{ord(char):04x}")
    return found


def jaeger_v3(document: Document) -> Document:
    """What `GET /api/v3/traces/{id}` answers: events by name, attributes by key."""
    found = copy.deepcopy(document)
    for resource, span in spans_of(found):
        span.get("events", []).sort(key=lambda event: event["name"])
        for holder in (resource, span, *span.get("events", [])):
            holder.get("attributes", []).sort(key=lambda pair: pair["key"])
    return {"result": found}


def jaeger_v3_from_disk(document: Document) -> Document:
    """The same from Badger, Cassandra or Elasticsearch, as far as arrays go: of each only the JSON text is left."""
    found = jaeger_v3(document)
    for _, span in spans_of(found["result"]):
        for holder in (span, *span.get("events", [])):
            for pair in holder.get("attributes", []):
                if "arrayValue" in pair["value"]:
                    pair["value"] = {"stringValue": _go_json(_raw(pair["value"]))}
    return found


# --- Tempo


def tempo(document: Document, key: str, most: int = 2048) -> Document:
    """Tempo's JSON: base64 ids, names for enums, strings (not arrays) cut by bytes, half characters as Go has them."""
    return {key: _jsonpb(document["resourceSpans"], most)}


def _jsonpb(value: Any, most: int) -> Any:
    if isinstance(value, list):
        return [_jsonpb(item, most) for item in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, item in value.items():
        if key in _ID_KEYS:
            found[key] = base64.b64encode(bytes.fromhex(item)).decode()
        elif key == "kind":
            found[key] = f"SPAN_KIND_{_KINDS[item].upper()}"
        elif key == "code":
            found[key] = f"STATUS_CODE_{_STATUSES[item]}"
        elif key == "stringValue":
            found[key] = _halves(item.encode()[:most])
        else:
            found[key] = item if key == "arrayValue" else _jsonpb(item, most)
    return found


def _halves(data: bytes) -> str:
    whole = data.decode("utf-8", "ignore")
    return whole + "\ufffd" * (len(data) - len(whole.encode()))


def tempo_message(document: Document, most: int = 2048) -> bytes:
    """Tempo's `Trace` on the wire; a string that is cut in the middle of a character is no UTF-8 any more."""
    found = _jsonpb(copy.deepcopy(document["resourceSpans"]), 1 << 40)
    cut: list[bytes] = []
    _mark(found, most, cut)
    data = ParseDict(
        {"resourceSpans": found}, TracesData(), ignore_unknown_fields=True
    ).SerializeToString()
    for number, half in enumerate(cut):
        data = data.replace(_marker(number, len(half)), half)
    return data


def _marker(number: int, length: int) -> bytes:
    """ASCII of this length that stands nowhere else."""
    return f"\x7f{number:06}".encode().ljust(length, b"\x7f")


def _mark(value: Any, most: int, cut: list[bytes]) -> None:
    for key, item in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        if key == "stringValue" and len(item.encode()) > most:
            cut.append(item.encode()[:most])
            value[key] = _marker(len(cut) - 1, most).decode()
        elif key != "arrayValue":
            _mark(item, most, cut)


def field(tag: int, data: bytes) -> bytes:
    """A field with a length."""
    length, found = len(data), [tag]
    while length >= 0x80:
        found.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*found, length]) + data


def tempo_v2_message(document: Document, partial: str | None = None) -> bytes:
    """A `TraceByIDResponse`: the trace, metrics, and whether it is a part only."""
    found = field(0x0A, tempo_message(document)) + field(0x12, b"\x08\x80\x01")
    return found if partial is None else found + b"\x18\x01" + field(0x22, partial.encode())


def text(value: Any) -> bytes:
    """JSON as a server sends it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def one_by_one(document: Document) -> Iterator[Document]:
    """A document in one for each resource, as an API streams it."""
    for resource_spans in document["resourceSpans"]:
        yield {"resourceSpans": [resource_spans]}


DIALECTS: dict[str, Callable[[Document], bytes]] = {
    "OTLP JSON": text,
    "Jaeger v1": lambda document: text(jaeger_v1(document)),
    "Jaeger v1, its traces alone": lambda document: b"\n".join(
        map(text, jaeger_v1(document)["data"])
    ),
    "Jaeger v1, pretty-printed": lambda document: json.dumps(
        jaeger_v1(document), indent=2
    ).encode(),
    "Jaeger v3": lambda document: text(jaeger_v3(document)),
    "Jaeger v3, from disk": lambda document: text(jaeger_v3_from_disk(document)),
    "Jaeger v3, streamed": lambda document: b"\n".join(
        text(jaeger_v3(each)) for each in one_by_one(document)
    ),
    "Tempo v1": lambda document: text(tempo(document, "batches")),
    "Tempo v2": lambda document: text(
        {"trace": tempo(document, "resourceSpans"), "metrics": {"inspectedBytes": "9"}}
    ),
    "Tempo v1 protobuf": tempo_message,
    "Tempo v2 protobuf": tempo_v2_message,
}
