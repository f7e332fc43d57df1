"""One trace gives one report in every dialect of OTLP, Jaeger and Tempo, except what is hidden."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from builders import event
from dialects import DIALECTS, jaeger_v1, merged, tempo, tempo_message, text
from failgraph import FailureReport
from failgraph.codec import encode_event, encode_report
from failgraph.losses import HIDDEN
from failgraph.readers import Reading, spans
from otlp_file import (
    PREFIX,
    SECOND,
    SERVER,
    T0,
    TRACE,
    pairs,
    process,
    raw_event,
    reported,
    seen,
    span,
)
from record_strategies import reports
from same_readings import OTHER, SHORT, same, shapes

MICRO = 1000
LAX = hypothesis_settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

Read = Callable[[bytes], Reading]


# One report in every dialect


@st.composite
def documents(draw: st.DrawFn) -> tuple[FailureReport, dict[str, Any]]:
    """Draw any report, as spans of two processes; no two failures are within one µs."""
    report = draw(reports())
    events, attributes = encode_report(report)
    trace = draw(st.sampled_from([TRACE, SHORT]))
    count = draw(st.integers(1, 4))
    held: dict[int, list[dict[str, Any]]] = {number: [] for number in range(1, count + 1)}
    for position, attributes in enumerate(events):
        at = 5 * MICRO + position * MICRO + draw(st.integers(0, 999))
        held[draw(st.integers(1, count))].append(raw_event(attributes, at))
    made = [
        span(
            number,
            draw(st.integers(1, number - 1)) if number > 1 else None,
            *held[number],
            kind=draw(st.integers(0, 5)),
            start=draw(st.integers(0, 2 * MICRO)) if number > 1 else 0,
            end=SECOND + draw(st.integers(0, 5 * MICRO)),
            trace=trace,
            attributes={**(attributes if number == 1 else {}), "nemo.gym.rollout.id": "r\x00<&>"},
            status={"code": draw(st.integers(0, 2))},
        )
        for number in range(1, count + 1)
    ]
    split = draw(st.integers(1, count))
    parts = [process(*made[:split], service="one")]
    return report, merged(*parts, process(*made[split:], service="two", host="h")) if made[
        split:
    ] else parts[0]


@LAX
@given(documents())
def test_any_report_is_the_same_in_every_dialect(reading, drawn):
    """Report, places, hops, order and losses are equal, and times within 1 µs."""
    report, document = drawn
    expected = reading(DIALECTS["OTLP JSON"](document))
    if report.events:
        (trace,) = expected.traces
        assert {key: each.model_dump() for key, each in trace.report.events.items()} == {
            key: each.model_dump() for key, each in report.events.items()
        }
    for dialect in DIALECTS.values():
        same(reading(dialect(document)), expected)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("shape", shapes())
def test_every_shape_is_the_same_in_every_dialect(reading, shape, dialect):
    """For what the demo makes, and what goes wrong on the way."""
    document = shapes()[shape]
    same(reading(DIALECTS[dialect](document)), reading(DIALECTS["OTLP JSON"](document)))


@pytest.mark.parametrize("shape", shapes())
def test_the_order_of_spans_makes_no_difference(reading, shape):
    """In Jaeger's responses it is random."""
    document, turned = shapes()[shape], shapes()[shape]
    turned["resourceSpans"].reverse()
    for resource_spans in turned["resourceSpans"]:
        resource_spans["scopeSpans"][0]["spans"].reverse()
    same(reading(text(turned)), reading(text(document)))


# What each dialect keeps, and what `losses.HIDDEN` says that one hides


def jaeger(document: dict[str, Any]) -> bytes:
    return DIALECTS["Jaeger v1"](document)


def test_only_jaeger_v1_hides_dropped_counts(reading):
    """The loss is missing there, and with it `omitted`."""
    dropping = process(
        span(1, None, seen(event("e"), 5), droppedEventsCount=3, droppedAttributesCount=1)
    )
    for name, dialect in DIALECTS.items():
        (trace,) = reading(dialect(dropping)).traces
        hidden = name.startswith("Jaeger v1")
        assert [loss.kind for loss in trace.losses] == ([] if hidden else ["dropped_events"])
        assert trace.report.omitted == (not hidden)
    assert "`dropped_events`" in HIDDEN


def test_only_jaeger_v1_hides_nanoseconds(reading):
    """Within one µs the process's own order decides; an end may be 2 µs early."""
    close = process(
        span(
            1,
            None,
            seen(event("b"), 100, seq=1),
            seen(event("a"), 200, seq=0),
            start=999,
            end=2_998,
        )
    )
    for name, dialect in DIALECTS.items():
        (trace,) = reading(dialect(close)).traces
        hidden = name.startswith("Jaeger v1")
        assert list(trace.failures) == (["a", "b"] if hidden else ["b", "a"])
        assert trace.start_unix_nano + trace.duration_nano == T0 + (1_000 if hidden else 2_998)
    assert "nanoseconds" in HIDDEN


def test_only_jaeger_v1_hides_that_a_value_was_not_text(reading):
    """An array in place of a text is a loss elsewhere; there it is taken for its JSON text."""
    attributes = {**encode_event(event("e", failure_reason="boom")), PREFIX + "reason": ["a", "b"]}
    for name, dialect in DIALECTS.items():
        (trace,) = reading(dialect(process(span(1, None, raw_event(attributes, 5))))).traces
        hidden = name.startswith("Jaeger v1") or name == "Jaeger v3, from disk"
        assert trace.report.events["e"].failure_reason == ('["a","b"]' if hidden else "")
        assert trace.losses
    assert len(HIDDEN) == 3


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_attribute_named_event_replaces_the_name_of_an_event(reading, dialect):
    """In Jaeger's v1 JSON the failure is then recognized by its id."""
    named = {**encode_event(event("e")), "event": "retry"}
    document = process(
        span(1, None, raw_event(named, 5), raw_event({"event": "retry", "x": 1}, 6, name="log"))
    )
    (trace,) = reading(DIALECTS[dialect](document)).traces
    assert list(trace.report.events) == ["e"]
    assert trace.losses == ()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_arrays_come_back_exactly(reading, dialect):
    """The rest of a long text and the lists of a hop, with every character that JSON escapes."""
    reason = ('"\\\x00<&>\u2028😀' * 400)[:2000]
    ids = ('"quoted"', "back\\slash", "[1]", "", "\x7f\u2028", "e")
    attributes = {
        **reported(*ids, own="e"),
        PREFIX + "report.kinds": ("a:b", "c"),
        PREFIX + "report.boundaries": ("agent",),
    }
    document = process(
        span(1, None, seen(event("e", failure_reason=reason), 5), attributes=attributes)
    )
    (trace,) = reading(DIALECTS[dialect](document)).traces
    assert trace.report.events["e"].failure_reason == reason
    attributes = trace.hops[0].span.attributes
    assert [
        attributes[PREFIX + key] for key in ("report.ids", "report.kinds", "report.boundaries")
    ] == [
        list(ids),
        ["a:b", "c"],
        ["agent"],
    ]
    assert {loss.kind for loss in trace.losses} == {"event_missing"}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("number", [0, -1, 2**53, -(2**53), 2**63 - 1, -(2**63)])
def test_integers_past_2_53_survive(reading, dialect, number):
    """They may be written as text."""
    document = process(
        span(1, None, seen(event("e", boundary="sandbox", details={"exit_code": number}), 5))
    )
    (trace,) = reading(DIALECTS[dialect](document)).traces
    assert trace.report.events["e"].details.exit_code == number
    assert trace.losses == ()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("code", "status"), [(0, ""), (1, "OK"), (2, "ERROR")])
def test_status_survives_without_its_description(reading, dialect, code, status):
    """It is a tag, a number or a name; the description may hold a secret, and is not kept."""
    document = process(
        span(1, None, seen(event("e"), 5), kind=SERVER, status={"code": code, "message": "hunter2"})
    )
    result = reading(DIALECTS[dialect](document))
    assert (result.traces[0].root.status, result.traces[0].root.kind) == (status, "SERVER")
    assert "hunter2" not in repr(result)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "value", [{"bytesValue": "AAE="}, {"doubleValue": 0.5}, {"kvlistValue": {"values": []}}]
)
def test_types_that_failgraph_never_writes_are_losses(reading, dialect, value):
    """A value of another type is not converted."""
    made = raw_event(encode_event(event("e")), 5)
    made["attributes"].append({"key": PREFIX + "remote", "value": value})
    (trace,) = reading(DIALECTS[dialect](process(span(1, None, made)))).traces
    assert not trace.failures["e"].decoded.remote
    assert {loss.kind for loss in trace.losses} == {"unknown_field"}


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name.startswith("Tempo")])
def test_what_tempo_cuts_is_text_cut(reading, dialect):
    """A text that another encoder did not split is cut by Tempo."""
    whole = {**encode_event(event("e", failure_reason="x" * 2000)), PREFIX + "reason": "x" * 3000}
    whole[PREFIX + "text_bytes"] = int(whole[PREFIX + "text_bytes"]) + 1000
    (trace,) = reading(DIALECTS[dialect](process(span(1, None, raw_event(whole, 5))))).traces
    assert set(trace.losses) >= {("text_cut", "952 bytes of text of e")}
    assert {loss.kind for loss in trace.losses} == {"text_cut"}


@pytest.mark.parametrize("limit", range(90, 104))
def test_a_cut_in_the_middle_of_a_character_is_text_cut(reading, limit):
    """JSON has a replacement character there, protobuf half a character; both can be read."""
    document = process(
        span(1, None, seen(event("e", failure_reason="日" * 40), 5), attributes={"note": "😀" * 99})
    )
    for data in (text(tempo(document, "batches", limit)), tempo_message(document, limit)):
        result = reading(data)
        (trace,) = result.traces
        assert result.losses == ()
        assert [loss.kind for loss in trace.losses] == ["text_cut"]
        assert trace.report.events["e"].failure_reason.rstrip("\ufffd") == "日" * (limit // 3)


def test_a_text_that_ends_in_a_replacement_character_is_whole(reading):
    """It may have been written so."""
    (trace,) = reading(
        text(process(span(1, None, seen(event("e", failure_reason="half \ufffd"), 5))))
    ).traces
    assert trace.losses == ()


def test_ids_may_lack_leading_zeros(reading):
    """Any 1 to 32 digits, also in upper case."""
    document = jaeger_v1(process(span(1), span(0xAB, 1, seen(event("e"), 5)), service="s"))
    trace = document["data"][0]
    trace["traceID"] = trace["spans"][0]["traceID"] = "7"
    trace["spans"][0]["spanID"] = "1"
    trace["spans"][1].update(traceID="0" * 31 + "7", spanID="AB")
    trace["spans"][1]["references"] = [{"refType": "CHILD_OF", "traceID": "07", "spanID": "01"}]
    (trace,) = reading(text(document)).traces
    assert (trace.trace_id, trace.failures["e"].span.span_id) == (SHORT, f"{0xAB:016x}")
    assert trace.losses == ()


@pytest.mark.parametrize("spelled", ["parentSpanID", "process", "no trace id"])
def test_older_forms_of_jaeger_v1_are_read(reading, spelled):
    """Parent in a field, process inside the span, trace id only on the trace."""
    document = jaeger_v1(process(span(1), span(2, 1, seen(event("e"), 5)), service="s"))
    for item in document["data"][0]["spans"]:
        if spelled == "process":
            item["process"] = document["data"][0]["processes"][item.pop("processID")]
        elif spelled == "no trace id":
            del item["traceID"]
        elif item["references"]:
            item["parentSpanID"] = item.pop("references")[0]["spanID"]
    (trace,) = reading(text(document)).traces
    assert (trace.failures["e"].span.parent_span_id, trace.service, trace.losses) == (
        f"{1:016x}",
        "s",
        (),
    )


def test_numbers_and_booleans_may_be_text_in_jaeger_v1(reading):
    """Older stores wrote int64 and bool so, with their types."""
    document = jaeger_v1(process(span(1, None, seen(event("e", http_status=404), 5, late=True))))
    for field in document["data"][0]["spans"][0]["logs"][0]["fields"]:
        field["value"] = (
            str(field["value"]).lower() if field["type"] == "bool" else str(field["value"])
        )
    (trace,) = reading(text(document)).traces
    assert (trace.report.events["e"].http_status, trace.failures["e"].decoded.late) == (404, True)
    assert trace.losses == ()


def test_the_parent_is_the_first_reference_into_the_trace(reading):
    """A CHILD_OF reference into another trace is not the parent."""
    document = jaeger_v1(process(span(1), span(2, 1, seen(event("e"), 5))))
    references = document["data"][0]["spans"][1]["references"]
    references[:0] = [
        {"refType": "CHILD_OF", "traceID": OTHER, "spanID": "9"},
        {"refType": "FOLLOWS_FROM"},
    ]
    (trace,) = reading(text(document)).traces
    assert trace.failures["e"].span.parent_span_id == f"{1:016x}"


def test_a_missing_process_is_a_loss(reading):
    """Its spans are read, and their service is unknown."""
    document = jaeger_v1(process(span(1, None, seen(event("e"), 5))))
    document["data"][0]["processes"] = {}
    result = reading(text(document))
    assert (result.traces[0].service, [loss.kind for loss in result.losses]) == ("", ["bad_line"])


def test_nothing_but_what_is_needed_is_kept_of_any_dialect(reading, tmp_path):
    """Other attributes of resources and spans, other events, and links are not kept."""
    secret = "hunter2"
    made = span(1, None, seen(event("e"), 5), raw_event({"x": secret}, 6, name="exception"))
    made["attributes"] = pairs({"authorization": secret})
    made["links"] = [{"traceId": OTHER, "spanId": "f" * 16, "attributes": pairs({"x": secret})}]
    for dialect in DIALECTS.values():
        result = reading(dialect(process(made, token=secret)))
        assert secret not in repr(result) + repr(list(spans(tmp_path / "downloaded")))
        assert result.losses == ()


def test_writers_leave_their_document_unchanged():
    """So each test compares with the same document."""
    document = shapes()["a chain through three processes"]
    before = copy.deepcopy(document)
    for dialect in DIALECTS.values():
        dialect(document)
    assert json.dumps(document) == json.dumps(before)
