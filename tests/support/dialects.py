"""Convert OTLP JSON to the other dialects of Jaeger and Tempo, by their documented APIs.

Jaeger's own JSON follows its UI model and the Collector's translator to Jaeger;
stack/test_attribute_survival.py compares it with a real Jaeger. Tempo's forms are the jsonpb
and the protobuf of its `Trace` and `TraceByIDResponse`; no Tempo can be built from a Go module.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

Document = dict[str, Any]
_KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
_STATUSES = ("UNSET", "OK", "ERROR")
_LARGEST_JSON_INT = 2**53 - 1  # JavaScript loses digits of larger ones, so Jaeger writes text
_ID_KEYS = frozenset({"traceId", "spanId", "parentSpanId"})


def merged(*documents: Document) -> Document:
    """Return one document with the spans of all."""
    return {"resourceSpans": [each for document in documents for each in document["resourceSpans"]]}


def spans_of(document: Document) -> Iterator[tuple[Document, Document]]:
    """Yield each span after its resource."""
    for resource_spans in document["resourceSpans"]:
        for scope_spans in resource_spans["scopeSpans"]:
            for span in scope_spans["spans"]:
                yield resource_spans["resource"], span


# --- Jaeger


def jaeger_v1(document: Document) -> Document:
    """Return the answer of `GET /api/traces` with all traces of a document."""
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
    """Return a trace id as Jaeger prints it: 16 digits if the upper half is zero."""
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
    references = []
    if parent:
        references.append({"refType": "CHILD_OF", "traceID": short(trace_id), "spanID": parent})
    for link in span.get("links", []):
        reference = {
            "refType": "FOLLOWS_FROM",
            "traceID": short(link["traceId"]),
            "spanID": link["spanId"],
        }
        if (link["traceId"], link["spanId"]) == (trace_id, parent):
            references[0] = reference
        else:
            references.append(reference)
    return references


def _own_tags(span: Document) -> list[Document]:
    """Return the tags that Jaeger makes of a span's fields."""
    values = [("otel.scope.name", "test")]
    if span.get("kind"):
        values.append(("span.kind", _KINDS[span["kind"]]))
    status = span.get("status", {})
    if status.get("code"):
        values.append(("otel.status_code", _STATUSES[status["code"]]))
    if status.get("message"):
        values.append(("otel.status_description", status["message"]))
    tags: list[Document] = [{"key": key, "type": "string", "value": value} for key, value in values]
    if status.get("code") == 2:
        tags.append({"key": "error", "type": "bool", "value": True})
    return tags


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
        return {
            "type": "int64",
            "value": number if -_LARGEST_JSON_INT <= number <= _LARGEST_JSON_INT else str(number),
        }
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
    """Return JSON as Go's encoder writes it: no spaces, and HTML's special characters escaped."""
    encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        encoded = encoded.replace(char, f"\\u{ord(char):04x}")
    return encoded


def jaeger_v3(document: Document) -> Document:
    """Return the answer of `GET /api/v3/traces/{id}`: events sorted by name, attributes by key."""
    result = copy.deepcopy(document)
    for resource, span in spans_of(result):
        span.get("events", []).sort(key=lambda event: event["name"])
        for holder in (resource, span, *span.get("events", [])):
            holder.get("attributes", []).sort(key=lambda pair: pair["key"])
    return {"result": result}


def jaeger_v3_from_disk(document: Document) -> Document:
    """Return the v3 answer of a Jaeger on Badger, Cassandra or Elasticsearch.

    Those store an array only as its JSON text.
    """
    answer = jaeger_v3(document)
    for _, span in spans_of(answer["result"]):
        for holder in (span, *span.get("events", [])):
            for pair in holder.get("attributes", []):
                if "arrayValue" in pair["value"]:
                    pair["value"] = {"stringValue": _go_json(_raw(pair["value"]))}
    return answer


# --- Tempo


def tempo(document: Document, key: str, max_bytes: int = 2048) -> Document:
    """Return Tempo's JSON.

    Ids are base64, enums are names, and strings outside arrays are cut to `max_bytes`.
    """
    return {key: _jsonpb(document["resourceSpans"], max_bytes)}


def _jsonpb(value: Any, max_bytes: int) -> Any:
    if isinstance(value, list):
        return [_jsonpb(item, max_bytes) for item in value]
    if not isinstance(value, dict):
        return value
    fields = {}
    for key, item in value.items():
        if key in _ID_KEYS:
            fields[key] = base64.b64encode(bytes.fromhex(item)).decode()
        elif key == "kind":
            fields[key] = f"SPAN_KIND_{_KINDS[item].upper()}"
        elif key == "code":
            fields[key] = f"STATUS_CODE_{_STATUSES[item]}"
        elif key == "stringValue":
            fields[key] = _decode_like_go(item.encode()[:max_bytes])
        else:
            fields[key] = item if key == "arrayValue" else _jsonpb(item, max_bytes)
    return fields


def _decode_like_go(data: bytes) -> str:
    """Decode UTF-8 that may end inside a character; Go replaces each byte of that one."""
    whole = data.decode("utf-8", "ignore")
    return whole + "\ufffd" * (len(data) - len(whole.encode()))


def tempo_message(document: Document, max_bytes: int = 2048) -> bytes:
    """Return Tempo's `Trace` as protobuf; a string cut inside a character is invalid UTF-8."""
    resource_spans = _jsonpb(copy.deepcopy(document["resourceSpans"]), 1 << 40)
    cut_texts: list[bytes] = []
    _replace_long_texts(resource_spans, max_bytes, cut_texts)
    data = ParseDict(
        {"resourceSpans": resource_spans}, TracesData(), ignore_unknown_fields=True
    ).SerializeToString()
    for number, cut_text in enumerate(cut_texts):
        data = data.replace(_placeholder(number, len(cut_text)), cut_text)
    return data


def _placeholder(number: int, length: int) -> bytes:
    """Return ASCII of this length that occurs nowhere else; protobuf takes only valid UTF-8."""
    return f"\x7f{number:06}".encode().ljust(length, b"\x7f")


def _replace_long_texts(value: Any, max_bytes: int, cut_texts: list[bytes]) -> None:
    """Put a placeholder for each text over `max_bytes`, and append what the text is cut to."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        if key == "stringValue" and len(item.encode()) > max_bytes:
            cut_texts.append(item.encode()[:max_bytes])
            value[key] = _placeholder(len(cut_texts) - 1, max_bytes).decode()
        elif key != "arrayValue":
            _replace_long_texts(item, max_bytes, cut_texts)


def field(tag: int, data: bytes) -> bytes:
    """Return a length-delimited protobuf field; `tag` is its first byte."""
    length, head = len(data), [tag]
    while length >= 0x80:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*head, length]) + data


def tempo_v2_message(document: Document, partial: str | None = None) -> bytes:
    """Return a `TraceByIDResponse`; `partial` is the reason why its trace is incomplete."""
    response = field(0x0A, tempo_message(document)) + field(0x12, b"\x08\x80\x01")
    return response if partial is None else response + b"\x18\x01" + field(0x22, partial.encode())


def text(value: Any) -> bytes:
    """Return JSON as a server sends it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def one_by_one(document: Document) -> Iterator[Document]:
    """Yield a document for each resource, as Jaeger's API streams them."""
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
