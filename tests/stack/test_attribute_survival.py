"""What survives in a Collector's file, in both APIs of a real Jaeger, and in Tempo's stand-in."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from dialects import jaeger_v1, merged, spans_of, tempo
from otlp_file import SERVER, T0, TRACE, pairs, process, raw_event, span
from real_backends import Jaeger, collector, jaeger, post
from same_readings import OTHER, SHORT, same, shapes

pytestmark = pytest.mark.needs("collector", "jaeger")

Document = dict[str, Any]
Span = dict[str, Any]


class There(NamedTuple):
    """Where the spans have arrived.

    Attributes:
        jaeger: A real Jaeger.
        file: What the Collector wrote, as one document.
    """

    jaeger: Jaeger
    file: Document


@pytest.fixture(scope="module")
def there(tmp_path_factory) -> Iterator[There]:
    """Send everything below to a Collector, which sends it to a file and to Jaeger."""
    folder = tmp_path_factory.mktemp("survival")
    with jaeger(folder) as found, collector(folder, found) as between:
        for document in (*SHAPES.values(), ODDITIES):
            post(between.otlp_http, json.dumps(document).encode())
        between.end()
        yield There(found, merged(*map(json.loads, between.json.read_bytes().splitlines())))


def only(document: Document, trace_ids: set[str]) -> Document:
    """Return the spans of these traces."""
    kept = [
        process_of(
            resource, scope, [each for each in scope["spans"] if each["traceId"] in trace_ids]
        )
        for resource in document["resourceSpans"]
        for scope in resource["scopeSpans"]
    ]
    return {"resourceSpans": [each for each in kept if each["scopeSpans"][0]["spans"]]}


def process_of(resource: Document, scope: Document, spans: list[Span]) -> Document:
    return {**resource, "scopeSpans": [{**scope, "spans": spans}]}


def traces_of(document: Document) -> list[str]:
    return list(dict.fromkeys(each["traceId"] for _, each in spans_of(document)))


# --- what survives where, attribute by attribute

ZERO = f"{0xEE:032x}"
"""A trace whose upper half of the id is zero."""
HERE, PARENT, ELSEWHERE = (f"{number:016x}" for number in (2, 1, 9))
LONG = "x" * 3000
MIXED = {"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}}
MAP = {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": "1"}}]}}


def links(*targets: tuple[str, str]) -> list[Document]:
    return [
        {"traceId": each, "spanId": to, "attributes": pairs({"why": "cause"})}
        for each, to in targets
    ]


ODD = span(
    2,
    1,
    raw_event({"b": 1, "a": 2, "event": "taken"}, 123_456, name="z"),
    raw_event({"n": 1}, 1, name="a"),
    raw_event({"n": 2}, 2, name="a"),
    raw_event({"n": 3}, 3, name="b"),
    trace=ZERO,
    kind=SERVER,
    status={"code": 2, "message": "why"},
    attributes={"array": ("a", '"'), "big": 2**62, "long": LONG, "whole": [LONG]},
    links=links((ZERO, PARENT), (OTHER, ELSEWHERE), (OTHER, ELSEWHERE)),
    droppedEventsCount=1,
    droppedAttributesCount=2,
    droppedLinksCount=3,
)
for key, value in (("bytes", {"bytesValue": "AAE="}), ("map", MAP), ("mixed", MIXED)):
    ODD["attributes"].append({"key": key, "value": value})
ODDITIES = process(span(1, trace=ZERO), ODD)
ODDITIES["resourceSpans"][0]["scopeSpans"][0]["scope"]["version"] = "1"


def of_key(found: list[Document], key: str) -> Any:
    """Return the value under a key, in OTLP or Jaeger's v1 JSON."""
    (pair,) = [pair for pair in found if pair["key"] == key]
    return pair["value"] if isinstance(pair["value"], dict) else (pair["type"], pair["value"])


def keys(found: list[Document]) -> list[str]:
    return [pair["key"] for pair in found]


class Row(NamedTuple):
    """One thing that is sent, and what arrives of it.

    Attributes:
        otlp: Returns it from a span in OTLP.
        v1: Returns it from a span in Jaeger's v1 JSON.
        left_in_v1: What Jaeger's v1 API has of it.
        left_in_v3: What Jaeger's v3 API has of it; by default all of it.
        left_in_tempo: What Tempo has of it; by default all of it.
    """

    otlp: Callable[[Span], Any]
    v1: Callable[[Span], Any]
    left_in_v1: Any
    left_in_v3: Any = ...
    left_in_tempo: Any = ...


def attribute(key: str, left_in_v1: tuple[str, Any], left_in_tempo: Any = ...) -> Row:
    return Row(
        lambda span: of_key(span["attributes"], key),
        lambda span: of_key(span["tags"], key),
        left_in_v1,
        left_in_tempo=left_in_tempo,
    )


ROWS = {
    "an event's name": Row(
        lambda span: sorted({event["name"] for event in span["events"]}),
        lambda span: sorted({of_key(log["fields"], "event")[1] for log in span["logs"]}),
        ["a", "b", "taken"],
    ),
    "an event's time": Row(
        lambda span: next(
            int(each["timeUnixNano"]) for each in span["events"] if each["name"] == "z"
        ),
        lambda span: max(log["timestamp"] for log in span["logs"]),
        T0 // 1000 + 123,
    ),
    "the order of events": Row(
        lambda span: [each["name"] for each in span["events"]],
        lambda span: [
            (log["fields"][0]["value"], log["fields"][1]["value"]) for log in span["logs"]
        ],
        [("a", 1), ("a", 2), ("b", 3), ("taken", 2)],
        ["a", "a", "b", "z"],
    ),
    "the order of an event's attributes": Row(
        lambda span: next(
            keys(each["attributes"]) for each in span["events"] if each["name"] == "z"
        ),
        lambda span: keys(span["logs"][-1]["fields"]),
        ["event", "a", "b"],
        ["a", "b", "event"],
    ),
    "an array of strings": attribute("array", ("string", '["a","\\""]')),
    "a mixed array": attribute("mixed", ("string", '["a",1]')),
    "a map": attribute("map", ("string", '{"a":1}')),
    "bytes": attribute("bytes", ("binary", "AAE=")),
    "an int beyond 2^53": attribute("big", ("int64", str(2**62))),
    "a long string": attribute("long", ("string", LONG), {"stringValue": LONG[:2048]}),
    "a long string in an array": attribute("whole", ("string", json.dumps([LONG]))),
    "a status message": Row(
        lambda span: span["status"]["message"],
        lambda span: of_key(span["tags"], "otel.status_description")[1],
        "why",
    ),
    "a status": Row(
        lambda span: span["status"]["code"],
        lambda span: (of_key(span["tags"], "error"), of_key(span["tags"], "otel.status_code")),
        (("bool", True), ("string", "ERROR")),
        left_in_tempo="STATUS_CODE_ERROR",
    ),
    "the scope": Row(
        lambda span: span["scope"],
        lambda span: [of_key(span["tags"], f"otel.scope.{key}")[1] for key in ("name", "version")],
        ["test", "1"],
    ),
    "dropped counts": Row(
        lambda span: [span[f"dropped{what}Count"] for what in ("Events", "Attributes", "Links")],
        lambda span: [key for key in str(span) if "dropped" in key],
        [],
    ),
    "a link's attributes": Row(
        lambda span: [link["attributes"] for link in span["links"]],
        lambda span: [sorted(reference) for reference in span["references"]],
        [["refType", "spanID", "traceID"]] * 3,
    ),
    "a link to the parent": Row(
        lambda span: span["links"][0]["spanId"],
        lambda span: [each["refType"] for each in span["references"] if each["spanID"] == PARENT],
        ["FOLLOWS_FROM"],
        left_in_tempo=base64.b64encode(bytes.fromhex(PARENT)).decode(),
    ),
    "two links to one span": Row(
        lambda span: span["links"][1] == span["links"][2],
        lambda span: span["references"][1] == span["references"][2],
        True,
    ),
    "a trace id": Row(
        lambda span: span["traceId"],
        lambda span: span["traceID"],
        ZERO[16:],
        left_in_tempo=base64.b64encode(bytes.fromhex(ZERO)).decode(),
    ),
}


def with_scope(document: Document) -> Span:
    """Return the span of `ODDITIES` from a document in OTLP."""
    (scope_spans,) = next(iter(document.values()))[0]["scopeSpans"]
    return {"scope": scope_spans["scope"], **scope_spans["spans"][1]}


@pytest.mark.parametrize("row", ROWS)
def test_what_survives_in_the_collectors_file(there, row):
    """Everything survives."""
    assert ROWS[row].otlp(with_scope(only(there.file, {ZERO}))) == ROWS[row].otlp(
        with_scope(ODDITIES)
    )


@pytest.mark.parametrize("row", ROWS)
def test_what_survives_in_jaegers_v3(there, row):
    """Everything survives but the order of events and attributes."""
    found = with_scope(json.loads(there.jaeger.get(f"api/v3/traces/{ZERO}"))["result"])
    wanted = ROWS[row].left_in_v3
    assert ROWS[row].otlp(found) == (
        ROWS[row].otlp(with_scope(ODDITIES)) if wanted is ... else wanted
    )


@pytest.mark.parametrize("row", ROWS)
def test_what_survives_in_jaegers_v1(there, row):
    """Only what the table lists survives."""
    (found,) = json.loads(there.jaeger.get(f"api/traces/{ZERO}"))["data"]
    (odd,) = [each for each in found["spans"] if each["spanID"] == HERE]
    assert ROWS[row].v1(odd) == ROWS[row].left_in_v1


@pytest.mark.parametrize("row", ROWS)
def test_what_survives_in_the_stand_in_for_tempo(row):
    """Everything survives but long strings outside of arrays; ids and status look different."""
    found = with_scope(tempo(ODDITIES, "batches"))
    wanted = ROWS[row].left_in_tempo
    assert ROWS[row].otlp(found) == (
        ROWS[row].otlp(with_scope(ODDITIES)) if wanted is ... else wanted
    )


# --- the shapes of test_dialects


def apart(number: int, document: Document) -> Document:
    """Return a document with trace ids that no other document has."""
    text = json.dumps(document)
    for trace_id in (TRACE, OTHER):
        text = text.replace(trace_id, f"{number:08x}{trace_id[8:]}")
    found: Document = json.loads(text.replace(SHORT, f"{number:024x}{SHORT[24:]}"))
    return found


SHAPES = {
    name: apart(number, document) for number, (name, document) in enumerate(shapes().items(), 1)
}


def named(document: Document) -> Document:
    """Name a service without a name as Jaeger does."""
    found = copy.deepcopy(document)
    for resource, _ in spans_of(found):
        resource.setdefault("attributes", pairs({"service.name": "missing-service-name"}))
    return found


def ended(document: Document) -> Document:
    """End a span without an end after its start as Jaeger does, with a warning."""
    found = copy.deepcopy(document)
    for _, each in spans_of(found):
        start = int(each["startTimeUnixNano"])
        if int(each.get("endTimeUnixNano", 0)) <= start:
            each["endTimeUnixNano"] = str(start + 1)
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_the_same_in_the_collectors_file(there, reading, shape):
    """The same trace gives the same report from everywhere, for damaged traces too."""
    document = SHAPES[shape]
    found = reading(json.dumps(only(there.file, set(traces_of(document)))).encode())
    same(found, reading(json.dumps(document).encode()))


@pytest.mark.parametrize("api", ["api/v3/traces", "api/traces"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_the_same_from_jaeger(there, reading, shape, api):
    """The same trace gives the same report from everywhere, even if Jaeger makes up an end."""
    document = SHAPES[shape]
    found = reading(there.jaeger.traces(api, traces_of(document)))
    same(found, reading(json.dumps(named(document)).encode()))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_stand_in_for_jaegers_v1_json_is_what_jaeger_returns(there, shape):
    """Every field is equal, but for the order of spans and processes, warnings and scopes."""
    for made in jaeger_v1(ended(named(SHAPES[shape])))["data"]:
        (found,) = json.loads(there.jaeger.get(f"api/traces/{made['traceID']}"))["data"]
        assert comparable(found) == comparable(made)


def comparable(trace: Document) -> list[Span]:
    """Return the spans of a trace in Jaeger's v1 JSON, each with its process."""
    spans = []
    for each in trace["spans"]:
        kept = {
            key: value
            for key, value in each.items()
            if key not in ("warnings", "flags", "processID")
        }
        kept["tags"] = [tag for tag in kept["tags"] if not tag["key"].startswith("otel.scope.")]
        spans.append({**kept, "process": trace["processes"][each["processID"]]})
    return sorted(spans, key=lambda each: each["spanID"])
