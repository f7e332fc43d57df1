"""Skimming changes nothing: a source holds what it holds when it is read in full."""

from __future__ import annotations

import base64
import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from builders import event
from failgraph.errors import SourceError
from failgraph.readers import lines, read
from failgraph.readers.skimming import skimmer
from otlp_file import failure_span, process, reported, seen, span, write

pytest.importorskip("msgspec", reason="without it nothing is skimmed")
OTHERS = [f"{number:032x}" for number in range(1, 9)]


def documents() -> list[dict[str, Any]]:
    """Return a failing trace, spread over two documents, among traces without failures."""
    link = {"traceId": OTHERS[0], "spanId": "00000000000000aa"}
    first = [
        span(
            1, name="rollout", attributes={**reported("a", own="a"), "nemo.gym.rollout.id": "r-1"}
        ),
        *(span(20 + at, trace=trace, end=at + 1, links=[link]) for at, trace in enumerate(OTHERS)),
    ]
    second = [
        span(2, 1, seen(event("a", failure_reason="é “x” \\ \x1b")), name="ü", start=5),
        failure_span(3, 2, seen(event("b"), 7)),
        *(
            span(40 + at, 20 + at, trace=trace, attributes={"url.full": "http://h"})
            for at, trace in enumerate(OTHERS)
        ),
    ]
    return [process(*first, service="one"), process(*second, service="two")]


def compact(document: object) -> bytes:
    """Return a document as exporters write it."""
    return json.dumps(document, separators=(",", ":")).encode()


def both(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[object, object]:
    """Return what a source holds, skimmed and read in full, or the error.

    Without msgspec, and with any number of lines at a time, the result is the same. A hop is equal
    only to itself, so its text is compared.

    """

    def result() -> object:
        try:
            reading = read(path)
            return (
                reading.durations,
                reading.rollouts,
                reading.starts,
                repr(reading._replace(durations={}, rollouts={}, starts={})),
            )
        except SourceError as error:
            return str(error)

    skimmed = result()
    with monkeypatch.context() as without:
        for size in (1, 2500):
            without.setattr(lines, "_BATCH_SIZE", size)
            assert result() == skimmed
        without.setattr(skimmer, "json_decoders", lambda: None)
        assert result() == skimmed
        without.setattr(skimmer.Skimmer, "first_pass", lambda *_: skimmer.READ_ALL)
        without.setattr(skimmer.Skimmer, "second_pass", lambda *_: skimmer.READ_ALL)
        return skimmed, result()


def test_what_exporters_write_is_skimmed(tmp_path, monkeypatch):
    """Spans of other traces are skipped in both passes, and the result is the same."""
    path = write(tmp_path / "f.jsonl", *map(compact, documents()))
    passes = skimmer.Skimmer()
    parse = passes.first_pass(lambda _: None).parse
    first = [parse(line) for line in path.read_bytes().splitlines()]
    assert [each.skipped for each in first] == [8, 8]
    parse = passes.second_pass(["0af7651916cd43dd8448eb211c80319c"]).parse
    second = [parse(line) for line in path.read_bytes().splitlines()]
    assert [len(spans) for each in second for _, spans in each.unskimmed] == [1, 2]
    skimmed, full = both(path, monkeypatch)
    assert skimmed == full
    assert len(full[0]) == 9


def test_lines_of_one_span_are_skipped_together(tmp_path, monkeypatch):
    """All lines that differ only in their span are skipped at once, except the wanted ones."""
    made = [
        process(each, service="one")
        for each in documents()[0]["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ]
    text = [compact(each) + b"\n" for each in made]
    passes = skimmer.Skimmer()
    plan = passes.first_pass(lambda _: None)
    assert plan.skim_lines(text).unread == list(range(9))
    plan.parse(text[1]), plan.parse(text[2])
    times, others = plan.skim_lines([*text, text[3][:-1], text[3].replace(b'"service', b'"other')])
    assert [trace_id for trace_id, _, _ in times] == OTHERS
    assert others == [0, 9, 10]
    _, others = passes.second_pass([OTHERS[2], OTHERS[5]]).skim_lines(text)
    assert others == [3, 6]


ODD_LINES = {
    "a span and a half, and the rest of it": lambda a, b: [
        a[:-9] + b',{"traceId":"x","links":[{}' + a[-9:],
        b,
    ],
    "two spans in one line": lambda a, b: [
        a[:-9] + b"}," + b[b.index(b'{"traceId') : -9] + a[-9:],
        b,
    ],
    "the id twice": lambda a, b: [
        a.replace(b'"kind":', b'"traceId":"%s","kind":' % OTHERS[7].encode()),
        b,
    ],
    "the id twice, the other one failing": lambda a, b: [
        a.replace(b'"kind":', b'"traceId":"0af7651916cd43dd8448eb211c80319c","kind":'),
        b,
    ],
    "an escaped mark": lambda a, b: [a.replace(b"http.", b"\\u006eemo.gym."), b],
    "another end of line": lambda a, b: [a + b"\r", b],
    "no end of line": lambda a, b: [a + b],
    "an empty line": lambda a, b: [a, b"", b"  ", b],
    "the beginning of an array": lambda a, b: [b"[", a, b],
    "the beginning of an object": lambda a, b: [b'{"resourceSpans":[', a, b],
    "an object over two lines": lambda a, b: [a[:100], a[100:], b],
    "a broken line": lambda a, b: [a[:-3], b],
    "a line of no trace": lambda a, b: [b'{"resourceLogs":[]}', a, b"3", b],
    "a carriage return inside": lambda a, b: [a.replace(b',"kind"', b'\r,"kind"'), b],
}


@pytest.mark.parametrize("at", [0, 2, 9, 16], ids=["first", "early", "late", "last"])
@pytest.mark.parametrize("odd", ODD_LINES.values(), ids=ODD_LINES)
def test_an_unusual_line_among_lines_of_one_span(odd, at, tmp_path, monkeypatch):
    """It is read and reported as if nothing were skipped."""
    spans = [
        each
        for document in documents()
        for each in document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ]
    text = [compact(process(each)) for each in spans]
    text[at : at + 2] = odd(text[at], text[at + 1])
    path = tmp_path / "f.jsonl"
    path.write_bytes(b"\n".join(text))
    skimmed, full = both(path, monkeypatch)
    assert skimmed == full


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "an id in capitals": lambda span: span.update(traceId="ABCDEF" + span["traceId"][6:]),
    "an id in base64": lambda span: span.update(traceId="Cvdlmgn7SIyNMjQWuAi4QA=="),
    "an id of zeros": lambda span: span.update(spanId="0" * 16),
    "an id of another length": lambda span: span.update(spanId="12"),
    "an id with a line feed": lambda span: span.update(spanId="0" * 15 + "1\n"),
    "no id": lambda span: span.pop("traceId"),
    "an id that is a number": lambda span: span.update(traceId=7),
    "snake case": lambda span: span.update(trace_id=span.pop("traceId")),
    "a time in snake case": lambda span: span.update(
        start_time_unix_nano=span.pop("startTimeUnixNano")
    ),
    "a bad count in snake case": lambda span: span.update(dropped_events_count="many"),
    "a time that is a number": lambda span: span.update(
        startTimeUnixNano=1_700_000_000_000_000_123
    ),
    "a time that is a fraction": lambda span: span.update(startTimeUnixNano=1.5e18),
    "a time that is text": lambda span: span.update(startTimeUnixNano="1_700"),
    "a time in other digits": lambda span: span.update(startTimeUnixNano="١٢٣"),
    "a time before all": lambda span: span.update(startTimeUnixNano="-5"),
    "a time after all": lambda span: span.update(endTimeUnixNano="9" * 19),
    "no end": lambda span: span.pop("endTimeUnixNano", None),
    "no start": lambda span: span.pop("startTimeUnixNano"),
    "a kind by name": lambda span: span.update(kind="SPAN_KIND_SERVER"),
    "a kind of none": lambda span: span.update(kind=17),
    "a kind that is true": lambda span: span.update(kind=True),
    "a name that is none": lambda span: span.update(name=5),
    "a name that is null": lambda span: span.update(name=None),
    "attributes of another type": lambda span: span.update(attributes={"a": 1}),
    "an attribute of another type": lambda span: span.update(attributes=[3]),
    "events of another type": lambda span: span.update(events="x"),
    "an event without a name": lambda span: span.update(events=[{"name": 3}]),
    "an event of another kind": lambda span: span.update(
        events=[{"name": "retry", "timeUnixNano": "5"}]
    ),
    "a status of another type": lambda span: span.update(status=2),
    "a status that is null": lambda span: span.update(status=None),
    "dropped": lambda span: span.update(droppedEventsCount="2"),
    "dropped, no number": lambda span: span.update(droppedAttributesCount="many"),
    "what Jaeger warns of": lambda span: span.update(
        attributes=[
            {
                "key": "@jaeger@warnings",
                "value": {"arrayValue": {"values": [{"stringValue": "trace has more than 9"}]}},
            }
        ]
    ),
    "a rollout": lambda span: span.update(
        attributes=[{"key": "nemo.gym.rollout.id", "value": {"stringValue": "r-9"}}]
    ),
    "an id that is not the first": lambda span: span.update(traceId=span.pop("traceId")),
    "an unknown field": lambda span: span.update(more={"traceId": OTHERS[3], "spans": []}),
}


@pytest.mark.parametrize("alone", [False, True], ids=["many a line", "one a line"])
@pytest.mark.parametrize(
    "at", [0, 3, 10], ids=["of the failing trace", "of another", "of the second document"]
)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_unusual_span(change, at, alone, tmp_path, monkeypatch):
    """It is read and reported as if nothing were skipped."""
    made = documents()
    spans = [
        each for document in made for each in document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ]
    change(spans[at])
    lines = [process(each) for each in spans] if alone else made
    skimmed, full = both(write(tmp_path / "f.jsonl", *map(compact, lines)), monkeypatch)
    assert skimmed == full


def _texts() -> dict[str, bytes]:
    lines = [compact(each) for each in documents()]
    wide = json.dumps(documents()[0], indent=1).encode()
    batches = {"batches": documents()[0]["resourceSpans"]}
    return {
        "compact": b"\n".join(lines),
        "raw text": b"\n".join(
            json.dumps(each, ensure_ascii=False).encode() for each in documents()
        ),
        "over many lines": wide + b"\n" + lines[1],
        "in a list": b"[" + b",\n".join(lines) + b"]",
        "one behind the other": lines[0] + lines[1],
        "cut off": lines[0] + b"\n" + lines[1][:-40],
        "cut off, and more": lines[0][:-40] + b"\n" + lines[1],
        "broken inside": lines[0].replace(b'"kind":', b'"kind"', 1) + b"\n" + lines[1],
        "escaped": lines[1].replace(b"nemo.gym.failure", b"\\u006eemo.gym.failure"),
        "an escaped id": lines[0] + b"\n" + lines[1].replace(b"0af765", b"\\u0030af765"),
        "not UTF-8": lines[1].replace(b"http://h", b"http://\xff"),
        "not UTF-8 where it is asked for": lines[1]
        .replace(b'"span-', b'"\xff-')
        .replace(b"judge", b"\xe9udge"),
        "not UTF-8 in a resource": b"\n".join(lines).replace(
            b'"resource":{', b'"resource":{"x":"\xff",'
        ),
        "a number without end in a resource": b"\n".join(lines).replace(
            b'"resource":{', b'"resource":{"x":' + b"9" * 30_000 + b","
        ),
        "not a number": lines[0].replace(b'"kind":1', b'"kind":NaN'),
        "a key twice": lines[0].replace(b'"kind":1', b'"kind":1,"kind":3'),
        "another spelling": json.dumps(batches).encode() + b"\n" + lines[1],
        "both spellings": json.dumps({**batches, **documents()[1]}).encode(),
        "nothing in it": b'{"resourceSpans":[]}\n'
        b'{"resourceSpans":[{"resource":{},"scopeSpans":[{}]}]}',
        "only others": b"\n".join(lines).replace(b"nemo.gym.", b"some.gym."),
    }


@pytest.mark.parametrize("name", _texts())
def test_an_unusual_document(name, tmp_path, monkeypatch):
    """Whatever layout a file has, skimming it gives the same result."""
    path = tmp_path / "f.jsonl"
    path.write_bytes(_texts()[name])
    skimmed, full = both(path, monkeypatch)
    assert skimmed == full


def in_protobuf(documents: list[dict[str, Any]]) -> list[Any]:
    """Return the document as `TracesData`."""
    copies = copy.deepcopy(documents)
    for each in copies:
        for fields in each["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            fields.pop("links", None)
            for name in ("traceId", "spanId", "parentSpanId"):
                if name in fields:
                    fields[name] = base64.b64encode(bytes.fromhex(fields[name])).decode()
    return [ParseDict(each, TracesData()) for each in copies]


BINARY_CHANGES: dict[str, Callable[[Any], object]] = {
    "nothing": lambda span: None,
    "no trace id": lambda span: span.ClearField("trace_id"),
    "a short trace id": lambda span: setattr(span, "trace_id", b"\1" * 15),
    "an id of zeros": lambda span: setattr(span, "span_id", bytes(8)),
    "no times": lambda span: (
        span.ClearField("start_time_unix_nano"),
        span.ClearField("end_time_unix_nano"),
    ),
    "no start": lambda span: span.ClearField("start_time_unix_nano"),
    "no end": lambda span: span.ClearField("end_time_unix_nano"),
    "no kind": lambda span: span.ClearField("kind"),
    "an unknown kind": lambda span: span.MergeFromString(b"\x30\x11"),
    "a kind far off": lambda span: span.MergeFromString(b"\x30\xff\xff\x03"),
    "a rollout": lambda span: span.attributes.add(key="nemo.gym.rollout.id").value.MergeFromString(
        b"\x0a\x01r"
    ),
    "an unknown field": lambda span: span.MergeFromString(b"\xfa\x3f\x03abc"),
}


@pytest.mark.parametrize("many", [False, True], ids=["few spans", "many spans"])
@pytest.mark.parametrize("framed", [False, True], ids=["plain", "framed"])
@pytest.mark.parametrize(
    "at", [0, 3, 10], ids=["of the failing trace", "of another", "of the second message"]
)
@pytest.mark.parametrize("change", BINARY_CHANGES.values(), ids=BINARY_CHANGES)
def test_protobuf_spans_are_skipped(change, at, framed, many, tmp_path, monkeypatch):
    """As those of JSON are, many at once or one by one."""
    made = documents()
    for document in made:
        more = (
            span(100 + id_, trace=OTHERS[id_ % 8], start=id_, end=30 - id_)
            for id_ in range(30 * many)
        )
        document["resourceSpans"][0]["scopeSpans"][0]["spans"] += more
    messages = in_protobuf(made)
    scopes = [message.resource_spans[0].scope_spans for message in messages]
    change([*scopes[0][0].spans[:9], *scopes[1][0].spans][at])
    for scope in scopes:  # one more, of usual spans
        scope.add().spans.extend(scope[0].spans[-4:])
    data = [message.SerializeToString() for message in messages]
    path = tmp_path / "f.binpb"
    path.write_bytes(b"".join(len(each).to_bytes(4, "big") * framed + each for each in data))
    skimmed, full = both(path, monkeypatch)
    assert skimmed == full


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("alone", [False, True], ids=["many a line", "one a line"])
def test_any_damage_gives_the_same_result(alone, tmp_path, monkeypatch):
    """Bytes are changed, cut out or doubled anywhere."""
    chance = random.Random(10)
    made = documents()
    if alone:
        made = [
            process(each)
            for part in made
            for each in part["resourceSpans"][0]["scopeSpans"][0]["spans"]
        ]
    whole = b"\n".join(map(compact, made))
    path = tmp_path / "f.jsonl"
    for _ in range(100):
        at, size = chance.randrange(len(whole)), chance.randrange(1, 30)
        middle = chance.choice(
            [b"", whole[at : at + size] * 2, chance.choice([b'"', b"}", b"\\", b"[", b"0", b"\n"])]
        )
        path.write_bytes(whole[:at] + middle + whole[at + size :])
        skimmed, full = both(path, monkeypatch)
        assert skimmed == full, path.read_bytes()


def test_a_number_that_only_the_second_pass_reads_is_a_loss(tmp_path):
    """A number of 30,000 digits in a skipped span of a failing trace."""
    failing = span(1, None, seen(event("a")))
    other = span(2, 1, attributes={"size": 1})
    whole = compact(process(failing, other)).replace(
        b'"intValue":"1"', b'"intValue":' + b"9" * 30_000
    )
    reading = read(write_bytes(tmp_path, whole + b"\n" + compact(process(span(3, 1))) + b"\n"))
    assert [loss.kind for loss in reading.losses] == ["bad_line"]


def write_bytes(folder: Path, data: bytes) -> Path:
    path = folder / "traces.jsonl"
    path.write_bytes(data)
    return path
