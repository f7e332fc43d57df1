"""What backends return besides traces: errors, parts of traces, nothing; and any of it damaged."""

from __future__ import annotations

import copy
import gzip
import json
import tempfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st

from builders import event
from dialects import (
    DIALECTS,
    field,
    jaeger_v1,
    jaeger_v3,
    merged,
    tempo,
    tempo_message,
    tempo_v2_message,
    text,
)
from failgraph.errors import SourceError
from failgraph.losses import MEANING, Loss
from failgraph.readers import Reading, read, spans
from json_paths import json_paths
from otlp_file import PREFIX, SECOND, SERVER, TRACE, process, reported, seen, span

pytestmark = pytest.mark.once

OTHER = "f" * 32
Read = Callable[[bytes], Reading]


def refused(reading: Read, data: bytes) -> str:
    """Return the reason in the error, without the name of the file."""
    with pytest.raises(SourceError) as caught:
        reading(data)
    return str(caught.value).partition(": ")[2]


def failing(number: int = 1, trace: str = TRACE, **options: Any) -> dict[str, Any]:
    """Return a document with one failing span."""
    return process(span(number, None, seen(event("e", **options), 5), trace=trace))


# Errors and nothing


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (
            {
                "data": None,
                "total": 0,
                "limit": 0,
                "offset": 0,
                "errors": [{"code": 404, "msg": "trace not result"}],
            },
            "404 trace not result",
        ),
        ({"errors": [{"code": 404, "msg": "trace not result"}]}, "404 trace not result"),
        ({"errors": [{"msg": "one"}, {"msg": "two", "traceID": "7"}]}, "one; two"),
        (
            {"error": {"grpcCode": 5, "httpCode": 404, "message": "not result", "httpStatus": "x"}},
            "404 not result",
        ),
        ({"error": {"httpCode": 500}}, "500 no reason given"),
        ({"error": "boom"}, "boom"),
        ({"error": ["boom"]}, "no reason given"),
        ({"code": 5, "message": "not result", "details": []}, "5 not result"),
        (
            {"trace": {}, "status": "PARTIAL", "message": "too large"},
            "only a part was returned (too large)",
        ),
        ({"trace": None, "status": "PARTIAL"}, "only a part was returned"),
    ],
)
def test_an_error_is_shown_in_the_words_of_the_backend(reading, document, words):
    """With its code, if it has one."""
    assert refused(reading, text(document)) == f"the backend reported: {words}"
    assert (
        refused(reading, json.dumps(document, indent=2).encode())
        == f"the backend reported: {words}"
    )


def test_the_words_of_a_backend_are_not_trusted(reading):
    """They are shown without control characters and secrets, and not at any length."""
    message = "\x1b[31m\u202e\n Authorization: Bearer abcdefghijklmnop1234 " + "x" * 10**5
    for document in ({"error": {"message": message}}, {"errors": [{"msg": message}] * 20}):
        reason = refused(reading, text(document))
        assert reason.isprintable()
        assert "abcdefghijklmnop1234" not in reason
        assert len(reason) < 1000


@pytest.mark.parametrize(
    "data",
    [
        text({"data": [], "total": 0, "limit": 0, "offset": 0, "errors": None}),
        text({"result": {"resourceSpans": []}}),
        text({"result": {}}),
        text({"trace": {}, "metrics": {"inspectedBytes": "12"}}),
        text({"trace": None}),
        text({"batches": []}),
        b"\x0a\x00",
        b"\x0a\x00\x12\x02\x08\x05",
        b"\x12\x02\x08\x05",
    ],
)
def test_a_response_without_a_trace_is_refused_as_one(reading, data):
    """Some backends return 200 and nothing for an absent trace."""
    assert refused(reading, data) == "the backend does not have the trace, or not yet"


@pytest.mark.parametrize(
    "data",
    [
        text(
            {"data": ["frontend", "backend"], "total": 2, "limit": 0, "offset": 0, "errors": None}
        ),
        text({"data": [{"parent": "a", "child": "b", "callCount": 3}], "total": 0, "errors": None}),
        text({"data": {"spans": 5}}),
        text({"data": 5}),
        text({"traces": [{"traceID": "7"}], "metrics": {}}),
        b"<!doctype html><html><body>not the Jaeger UI you are looking for</body></html>",
        b"too many requests",
        b"404 page not result\n",
        b"\x12\x02\x08",
        field(0x0A, b"\x01\x02"),
        b"{}",
        b"",
    ],
)
def test_other_responses_are_refused(reading, data):
    """Another API, a page, a sentence or damage give one sentence, no traceback."""
    assert refused(reading, data)


def test_a_log_line_with_an_error_is_not_a_response(reading):
    """Among the lines of a file it is skipped."""
    log = text({"level": "info", "error": {"message": "boom"}, "ts": 5})
    other = text({"errors": ["x"], "query": "y"})
    assert reading(b"\n".join([log, text(failing()), other])).losses == ()


def test_an_error_after_traces_is_a_loss(reading):
    """A stream that broke off, or one missing id of several: the traces are read."""
    loss = Loss("partial_trace", "the backend reported: 500 storage gone")
    streamed = (
        text(jaeger_v3(failing()))
        + b"\n"
        + text({"error": {"httpCode": 500, "message": "storage gone"}})
    )
    several = {**jaeger_v1(failing()), "errors": [{"code": 500, "msg": "storage gone"}]}
    for data in (streamed, text(several)):
        result = reading(data)
        assert list(result.traces[0].report.events) == ["e"]
        assert result.losses == (loss,)


# Parts of traces


def partial(document: dict[str, Any]) -> dict[str, bytes]:
    """Return responses that hold only a part of a trace."""
    words = "trace has more than 5 spans, showing first 5 spans only"
    truncated, warned = jaeger_v1(document), copy.deepcopy(document)
    truncated["data"][0]["spans"][0]["warnings"] = [
        "clock skew",
        "trace has more than 5 spans, showing first 5 spans only",
    ]
    whole = jaeger_v1(document)
    whole["data"][0]["warnings"] = [words]
    values = [{"stringValue": "clock skew"}, {"stringValue": words}]
    warned["resourceSpans"][0]["scopeSpans"][0]["spans"][0].setdefault("attributes", []).append(
        {"key": "@jaeger@warnings", "value": {"arrayValue": {"values": values}}}
    )
    return {
        "Tempo v2": text(
            {
                "trace": tempo(document, "resourceSpans"),
                "status": "PARTIAL",
                "message": "5 spans only",
            }
        ),
        "Tempo v2, a number": text({"trace": document, "status": 1, "message": "5 spans only"}),
        "Tempo v2 protobuf": tempo_v2_message(document, "5 spans only"),
        "Jaeger v1": text(truncated),
        "Jaeger v1, on the trace": text(whole),
        "Jaeger v3": text(jaeger_v3(warned)),
    }


@pytest.mark.parametrize("answer", partial(failing()))
def test_a_partial_trace_is_a_loss_of_that_trace(reading, answer):
    """The loss has the backend's words, and the report is omitted."""
    result = reading(partial(failing())[answer])
    (trace,) = result.traces
    assert [loss.kind for loss in trace.losses] == ["partial_trace"]
    assert "5 spans" in trace.losses[0].detail
    assert trace.report.omitted
    assert result.losses == ()


@pytest.mark.parametrize("answer", partial(process(span(1))))
def test_a_partial_trace_without_a_failure_is_a_loss_too(reading, answer, tmp_path):
    """The missing part may hold one."""
    result = reading(partial(process(span(1)))[answer])
    assert (result.traces, [loss.kind for loss in result.losses]) == ([], ["partial_trace"])
    assert result.losses[0].detail.startswith(f"{TRACE}: ")
    reader = spans(tmp_path / "downloaded")
    assert len(list(reader)) == 1
    assert reader.losses == result.losses


def test_only_the_partial_one_of_two_responses_is_a_loss(reading):
    """In JSON and protobuf, whichever comes first."""
    whole, part = failing(), failing(trace=OTHER)
    of_json = [text({"trace": whole}), text({"trace": part, "status": "PARTIAL"})]
    of_wire = [tempo_v2_message(whole), tempo_v2_message(part, "too large")]
    for first, second in (of_json, of_json[::-1], of_wire, of_wire[::-1]):
        kinds = {
            trace.trace_id: [loss.kind for loss in trace.losses]
            for trace in reading(first + second).traces
        }
        assert kinds == {TRACE: [], OTHER: ["partial_trace"]}


def test_other_statuses_are_no_loss(reading):
    """Tempo may report `COMPLETE`; an unknown status means nothing."""
    for status in ("COMPLETE", 0, None, 7, {"a": []}):
        assert reading(text({"trace": failing(), "status": status})).traces[0].losses == ()
    assert reading(tempo_v2_message(failing()) + b"\x18\x00").traces[0].losses == ()


def test_many_partial_traces_are_counted(reading):
    """Only the first ones are named."""
    answers = [
        text({"trace": process(span(1, trace=f"{n:032x}")), "status": "PARTIAL"})
        for n in range(1, 31)
    ]
    result = reading(b"\n".join(answers))
    assert len(result.losses) == 21
    assert result.losses[-1].detail == "10 more"


def test_an_end_that_jaeger_replaced_is_undone(reading):
    """Jaeger's warning has the original one: none, before the start, or the start itself."""
    words = (
        "Negative duration detected, sanitizing end timestamp."
        " Original end timestamp: {} +0000 UTC, adjusted to: x"
    )
    for original, kinds in (
        ("1970-01-01 00:00:00", ["unended"]),
        ("2023-11-14 22:13:19.99", ["unended"]),
        ("2023-11-14 22:13:20", []),
        ("2023-99-14 22:13:20", []),
        ("9999-12-31 23:59:59", []),
    ):
        document = process(span(1, None, seen(event("e"), 5), end=1))
        v1 = jaeger_v1(document)
        v1["data"][0]["spans"][0]["warnings"] = [words.format(original)]
        values = [{"stringValue": words.format(original)}]
        document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"].append(
            {"key": "@jaeger@warnings", "value": {"arrayValue": {"values": values}}}
        )
        for data in (text(v1), text(jaeger_v3(document))):
            assert [loss.kind for loss in reading(data).traces[0].losses] == kinds


# Several documents, and damage


def test_several_traces_are_read_in_every_layout(reading):
    """In one response, one a line, in an array, pretty-printed, compressed: without a loss."""
    two = jaeger_v1(merged(failing(), process(span(1, None, seen(event("f"), 5), trace=OTHER))))
    one_a_line = [text({**two, "data": [trace]}) for trace in two["data"]]
    alone = list(map(text, two["data"]))
    layouts = [
        text(two),
        json.dumps(two, indent=0).encode(),
        b"\n".join(one_a_line),
        b" ".join(one_a_line),
        text(two["data"]),
        b"[\n" + b",\n".join(alone) + b"\n]",
        b'{"data":[\n' + b",\n".join(alone) + b'\n],"errors":null}',
        b"\r\n\r\n".join(json.dumps(trace, indent=4).encode() for trace in two["data"]),
        gzip.compress(text(two)),
        b"\xef\xbb\xbf" + text(two),
    ]
    for data in layouts:
        result = reading(data)
        assert [trace.trace_id for trace in result.traces] == [TRACE, OTHER], data[:60]
        assert result.losses == (), data[:60]


@pytest.mark.parametrize(
    "dialect", ["Jaeger v1", "Jaeger v1, its traces alone", "Jaeger v3", "Tempo v1", "Tempo v2"]
)
def test_a_cut_line_costs_only_itself(reading, dialect):
    """It is what a download that broke off leaves."""
    lines = [DIALECTS[dialect](failing(trace=f"{number:032x}")) for number in range(1, 41)]
    for number in range(3, 40, 5):
        lines[number] = lines[number][:60]
    result = reading(b"\n".join(lines))
    assert len(result.traces) == 32
    assert {loss.kind for loss in result.losses} == {"bad_line"}
    assert len(result.losses) == 8


SMALL = merged(
    process(span(1, None, attributes=reported("e", own="e")), service="one"),
    process(
        span(2, 1, seen(event("e", failure_reason="日本"), 5), kind=SERVER, status={"code": 2}),
        service="two",
    ),
)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_file_that_is_cut_anywhere_is_read_or_refused(tmp_path, dialect):
    """At every byte; nothing is made up, and nothing raises but SourceError."""
    path = tmp_path / "cut"
    whole = DIALECTS[dialect](SMALL)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        try:
            result = read(path)
        except SourceError as error:
            assert "\n" not in str(error)
            continue
        assert all(set(trace.report.events) <= {"e"} for trace in result.traces)


@pytest.mark.slow
@hypothesis_settings(max_examples=500, deadline=None)
@given(st.data())
def test_any_bytes_are_read_or_refused(data):
    """Bytes of any dialect are changed, cut or repeated."""
    forms = [dialect(SMALL) for dialect in DIALECTS.values()]
    forms += [tempo_v2_message(SMALL, "why"), *partial(SMALL).values()]
    damaged = bytearray(data.draw(st.sampled_from(forms)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=6))
        damaged = damaged or bytearray(b"x")
    _readable(bytes(damaged))


def _readable(data: bytes) -> None:
    """Read bytes, and check that every loss is a known one and no failure is made up."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        try:
            result = read(file.name)
        except SourceError:
            return
    for trace in result.traces:
        assert {loss.kind for loss in (*trace.losses, *result.losses)} <= set(MEANING)
        assert len(trace.report.events) <= 2


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(
        [
            "",
            "0" * 32,
            "zz",
            "-5",
            "\x1b[31m",
            "\ud800",
            "[",
            "[[]]",
            "nemo.gym.failure",
            "CHILD_OF",
        ]
    ),
    st.lists(st.integers() | st.text(max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
)


@pytest.mark.slow
@hypothesis_settings(max_examples=500, deadline=None)
@given(st.data())
def test_fields_of_any_type_are_read_or_refused(data):
    """Fields of Jaeger's and Tempo's JSON are missing, of the wrong type, or repeated."""
    name = data.draw(st.sampled_from(["Jaeger v1", "Jaeger v3", "Tempo v1", "Tempo v2"]))
    document = json.loads(DIALECTS[name](SMALL))
    for _ in range(data.draw(st.integers(1, 3))):
        paths = list(json_paths(document))
        if not paths:
            break
        *path, last = data.draw(st.sampled_from(paths))
        parent = document
        for key in path:
            parent = parent[key]
        if data.draw(st.booleans()):
            parent[last] = data.draw(JUNK)
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(parent[last]))
        else:
            del parent[last]
    _readable(json.dumps(document).encode())


@pytest.mark.parametrize(
    "place", ["traceID", "parentSpanID", "spanID", "references", "duration", "tags", "warnings"]
)
@pytest.mark.parametrize("depth", [100, 900, 5_000, 200_000])
def test_deep_nesting_does_not_crash(place, depth):
    """However deep, it is refused as a whole, or left out."""
    document = jaeger_v1(failing())
    document["data"][0]["spans"][0][place] = "NEST"
    _readable(text(document).replace(b'"NEST"', b"[" * depth + b"]" * depth))
    arrays = process(
        span(
            1,
            None,
            seen(event("e"), 5),
            attributes={PREFIX + "report.ids": "[" * depth + "]" * depth},
        )
    )
    _readable(text(jaeger_v1(arrays)))
    _readable(
        text(failing()).replace(
            b'"spanId"', b'"parentSpanId":' + b"[" * depth + b"]" * depth + b',"spanId"'
        )
    )


def test_a_cycle_of_references_is_read(reading):
    """Two spans that are each other's parent, and one that is its own."""
    document = jaeger_v1(
        process(span(1, 2, seen(event("e"), 5)), span(2, 1), span(3, 3, seen(event("f"), 9_000)))
    )
    (trace,) = reading(text(document)).traces
    assert set(trace.report.events) == {"e", "f"}


def test_a_resource_without_spans_is_not_a_response_of_tempo(reading):
    """It looks like one on the wire; the spans beside it are read without a loss."""
    empty = {
        "resourceSpans": [
            {"resource": process(span(1), host="h", **{"a.b": "c"})["resourceSpans"][0]["resource"]}
        ]
    }
    result = reading(tempo_message(empty) + tempo_message(failing()) + tempo_message(empty))
    assert list(result.traces[0].report.events) == ["e"]
    assert (result.losses, result.trace_count) == ((), 1)
    assert reading(tempo_v2_message(merged(empty, failing(), empty))).losses == ()


def test_unknown_fields_around_a_trace_are_skipped(reading):
    """A later Tempo may add some."""
    data = (
        tempo_v2_message(failing())
        + field(0x2A, b"later")
        + b"\x30\x05"
        + b"\x3d1234"
        + b"\x4112345678"
    )
    assert reading(data).losses == ()


def test_damage_inside_a_trace_of_tempo_is_a_loss(reading):
    """The spans before it are read."""
    inner = tempo_message(failing()) + b"\x0a\x7fshort"
    result = reading(field(0x0A, inner) + field(0x12, b"\x08\x01"))
    assert list(result.traces[0].report.events) == ["e"]
    assert [loss.kind for loss in result.losses] == ["bad_line"]


@pytest.mark.slow
def test_a_long_trace_takes_linear_time(reading):
    """A trace of 20,000 spans with one failure, from Jaeger and from Tempo."""
    many = [span(number, number - 1 or None, end=SECOND) for number in range(1, 20_001)]
    many[500]["events"] = [seen(event("e"), 5)]
    document = process(*many)
    for dialect in ("Jaeger v1", "Tempo v2 protobuf"):
        (trace,) = reading(DIALECTS[dialect](document)).traces
        assert (list(trace.report.events), trace.losses) == (["e"], ())
