"""Reply headers: a report within its bytes and back, and values that others wrote."""

from __future__ import annotations

import base64
import gzip
import json
import random
import tracemalloc
import zlib
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import (
    HealthCheck,
    example,
    given,
    settings as hypothesis_settings,
    strategies as st,
)
from opentelemetry.trace import SpanContext

from builders import remote_span
from failgraph import (
    FailureBoundary,
    FailureEvent,
    FailureReport,
    ModelFailureDetails,
    SandboxFailureDetails,
)
from failgraph.failure.kinds import REGISTERED
from failgraph.redaction import redact_event
from failgraph.transport.header_decoder import decode_report, decode_spans
from failgraph.transport.header_encoder import encode_headers, encode_spans
from failgraph.transport.headers import REPORT, SPANS, ReplyHeaders
from redaction_corpus import SECRETS

LAX = hypothesis_settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
INFLATED = 65_536  # the contract's 64 KiB
EMPTY = FailureReport()
NOTHING_FITS = FailureReport(omitted=True)


# --- reports, and the lengths of headers


def prose(seed: int, length: int) -> str:
    """Return words that hardly compress and do not look like a secret."""
    drawn = random.Random(seed)
    words = (
        "".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=drawn.randint(2, 7)))
        for _ in range(length)
    )
    return " ".join(words)[:length]


def one(event_id: str = "e1", **fields: Any) -> FailureEvent:
    """Return a small event with the given fields."""
    return FailureEvent(
        **{"event_id": event_id, "failure_kind": "judge_failed", "boundary": "agent", **fields}
    )


def report_of(*events: FailureEvent, **fields: Any) -> FailureReport:
    """Return a report of the events, in their order."""
    return FailureReport(events={event.event_id: event for event in events}, **fields)


def chain_of(length: int, *, prefix: str = "e", reason: int = 0) -> list[FailureEvent]:
    """Return a chain of causes, its root first; the last one is the outermost."""
    return [
        one(
            f"{prefix}{number}",
            cause_id=f"{prefix}{number - 1}" if number else None,
            failure_reason=prose(number, reason) if reason else "",
        )
        for number in range(length)
    ]


def plain(report: FailureReport) -> str:
    """Return the compact ASCII JSON of a report."""
    return json.dumps(report.model_dump(mode="json"), separators=(",", ":"), ensure_ascii=True)


def lines(reply: ReplyHeaders) -> int:
    """Return the bytes of both header lines, as a server writes them."""
    head = f"{REPORT}: {reply.report_value}\r\n"
    if reply.spans_value is not None:
        head += f"{SPANS}: {reply.spans_value}\r\n"
    return len(head.encode())


def texts_of(event: FailureEvent) -> list[str]:
    """Return the texts that may be cut."""
    foreign, details = event.foreign_error, event.details
    reason = details.provider_status_reason if isinstance(details, SandboxFailureDetails) else None
    return [event.failure_reason, foreign.message if foreign is not None else "", reason or ""]


def without_texts(event: FailureEvent) -> dict[str, Any]:
    """Return the fields that must never change, except for the cause."""
    fields = event.model_dump(mode="json")
    for holder, name in ((fields, "failure_reason"), (fields.get("foreign_error"), "message")):
        if holder is not None:
            holder.pop(name, None)
    fields.get("details", {}).pop("provider_status_reason", None)
    fields.pop("cause_id", None)
    return fields


def order_of(report: FailureReport) -> list[str]:
    """Return the ids in the contract's order: the own chain, then the newest."""
    own, here = [], report.failure_id
    while here is not None:
        own.append(here)
        here = report.events[here].cause_id
    return own + [key for key in reversed(list(report.events)) if key not in own]


IDS = st.one_of(
    st.text(min_size=1, max_size=40),
    st.sampled_from(
        [
            "\x00",
            "i" * 128,
            "😀" * 128,
            "a=b,c;d|e%f g",
            "=",
            ",",
            ";",
            "|",
            "%",
            " ",
            "%3D",
            "a:b",
            "e+1",
        ]
    ),
)
TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "",
            "a" * 2000,
            "é" * 300,
            "😀" * 100,
            "\x00" * 100,
            "\x1b\r\n\t\x7f",
            '"\\',
            "x" * 60,
            "x" * 61,
        ]
    ),
    st.builds(prose, st.integers(0, 99), st.sampled_from([60, 61, 200, 201, 2000])),
)
NAMES = st.text(max_size=30) | st.just("ñ" * 256)
STATUS = st.none() | st.sampled_from([100, 404, 599])
EXIT_CODES = st.none() | st.integers() | st.sampled_from([0, -9, 2**63, -(2**70), 10**300])
FOREIGN = st.fixed_dictionaries(
    {"exception_type": st.text(min_size=1, max_size=256), "message": TEXTS, "http_status": STATUS}
)
SANDBOX = st.builds(
    SandboxFailureDetails,
    provider=st.none() | NAMES,
    sandbox_id=st.none() | NAMES,
    execution_id=st.none() | NAMES,
    exit_code=EXIT_CODES,
    provider_status_reason=st.none() | TEXTS,
)
MODEL = st.builds(
    ModelFailureDetails,
    provider_request_id=st.none() | NAMES,
    request_upload_complete=st.none() | st.booleans(),
)
KINDS = (
    st.sampled_from(sorted(REGISTERED))
    | st.text(min_size=1, max_size=30)
    | st.just("my_server:odd_kind")
)


@st.composite
def events(draw: st.DrawFn, event_id: str, cause_id: str | None) -> FailureEvent:
    """Return any event as it leaves a process: valid, and its texts redacted."""
    boundary = draw(st.sampled_from(FailureBoundary))
    details = {FailureBoundary.SANDBOX: SANDBOX, FailureBoundary.MODEL: MODEL}.get(
        boundary, st.none()
    )
    event = FailureEvent(
        event_id=event_id,
        failure_kind=draw(KINDS),
        boundary=boundary,
        failure_reason=draw(TEXTS),
        exception_type=draw(st.none() | NAMES),
        http_status=draw(STATUS),
        stage=draw(
            st.none() | st.sampled_from(["admission", "seed", "agent", "verification", "cleanup"])
        ),
        operation=draw(st.none() | NAMES),
        operation_id=draw(st.none() | st.text(max_size=128)),
        attempt_id=draw(st.none() | st.text(max_size=128)),
        cause_id=cause_id,
        foreign_error=draw(st.none() | FOREIGN),
        details=draw(st.none() | details),
    )
    return redact_event(event)


@st.composite
def reports(draw: st.DrawFn) -> FailureReport:
    """Return any report whose JSON is below 64 KiB: causes form any forest, in any order."""
    keys = draw(st.lists(IDS, unique=True, max_size=4))
    made: dict[str, FailureEvent] = {}
    for key in keys:
        made[key] = draw(
            events(key, draw(st.none() | st.sampled_from(list(made))) if made else None)
        )
    return FailureReport(
        events={key: made[key] for key in draw(st.permutations(keys))},
        failure_id=draw(st.none() | st.sampled_from(keys)) if keys else None,
        omitted=draw(st.booleans()),
    )


@st.composite
def report_with_spans(draw: st.DrawFn) -> tuple[FailureReport, dict[str, SpanContext]]:
    """Return a report and the spans of some of its events, and of one that it does not hold."""
    report = draw(reports())
    keys = draw(st.lists(st.sampled_from([*report.events, "of no event"]), unique=True))
    return report, {key: draw(SPAN_CONTEXTS) for key in keys}


TRACES = st.sampled_from([1, 2**64, 2**128 - 1]) | st.integers(1, 2**128 - 1)
SPAN_IDS = st.sampled_from([1, 2**64 - 1]) | st.integers(1, 2**64 - 1)
SPAN_CONTEXTS = st.builds(remote_span, TRACES, SPAN_IDS)
BUDGETS = st.sampled_from(
    [60, 90, 150, 256, 400, 700, 1024, 1500, 2000, 3072, 8190, 65_536]
) | st.integers(0, 4000)
SENT = (report_with_spans(), BUDGETS)
LONG = report_of(*chain_of(3, reason=2000), failure_id="e2")


# --- encoding: what always holds


@LAX
@given(*SENT)
@example((EMPTY, {}), 3072)
@example((NOTHING_FITS, {}), 3072)
@example((report_of(one(boundary="sandbox", details={})), {}), 3072)
@example((report_of(one(boundary="model", details={})), {}), 3072)
@example((report_of(*(one(f"e{number}") for number in range(256)), failure_id="e7"), {}), 65_536)
@example((LONG, {}), 600)
def test_what_is_sent_comes_back(
    sent: tuple[FailureReport, Mapping[str, SpanContext]], max_bytes: int
) -> None:
    """The report that was sent, its order and the spans come back."""
    reply = encode_headers(*sent, max_bytes)
    if reply is None:
        return
    back = decode_report(reply.report_value)
    assert back == reply.report
    assert list(back.events) == list(reply.report.events)
    spans = {key: span for key, span in sent[1].items() if key in reply.report.events}
    assert decode_spans(reply.spans_value or "") == spans
    assert (reply.spans_value is None) is (not spans)


@LAX
@given(*SENT)
@example((LONG, {"e0": remote_span(1, 1), "e1": remote_span(2, 1)}), 3072)
def test_the_budget_is_never_exceeded(
    sent: tuple[FailureReport, Mapping[str, SpanContext]], max_bytes: int
) -> None:
    """Both lines with names and line ends are within `max_bytes`, and `size` is right."""
    reply = encode_headers(*sent, max_bytes)
    if reply is not None:
        assert lines(reply) <= max_bytes
        assert reply.size() == lines(reply)


@pytest.mark.slow
@LAX
@given(*SENT)
@example(
    (
        report_of(one("\r\n", failure_kind="\x7f\x00é", failure_reason="\r\nX-Other: 1")),
        {"\r\n": remote_span(1, 1)},
    ),
    3072,
)
def test_values_are_printable_ascii(
    sent: tuple[FailureReport, Mapping[str, SpanContext]], max_bytes: int
) -> None:
    """No value holds a line end, a control character or non-ASCII, or is padded with spaces."""
    reply = encode_headers(*sent, max_bytes)
    for value in (reply.report_value, reply.spans_value) if reply is not None else ():
        if value is not None:
            assert all(" " <= char <= "~" for char in value)
            assert value
            assert value == value.strip()


@pytest.mark.slow
@LAX
@given(*SENT)
def test_plain_json_is_sent_if_it_fits(
    sent: tuple[FailureReport, Mapping[str, SpanContext]], max_bytes: int
) -> None:
    """The value is compact JSON; only if that does not fit, base64url of its zlib form."""
    reply = encode_headers(*sent, max_bytes)
    if reply is None:
        return
    text = plain(reply.report)
    if reply.report_value.startswith("{"):
        assert reply.report_value == text
    else:
        assert lines(reply) - len(reply.report_value) + len(text) > max_bytes
        assert set(reply.report_value) <= set(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_="
        )
        packed = base64.urlsafe_b64decode(reply.report_value + "=" * (-len(reply.report_value) % 4))
        assert zlib.decompress(packed).decode() == text


@pytest.mark.slow
@LAX
@given(*SENT)
@example((LONG, {}), 3072)
@example((LONG, {}), 700)
@example((LONG, {}), 200)
def test_what_is_left_out(
    sent: tuple[FailureReport, Mapping[str, SpanContext]], max_bytes: int
) -> None:
    """Events are kept in the contract's order, and only texts and causes change.

    Texts are whole, or cut to 200 characters, or to 60; if an event is missing, all are cut to 60.
    """
    report, spans = sent
    reply = encode_headers(report, spans, max_bytes)
    if reply is None:
        return
    sent_events = reply.report.events
    assert set(sent_events) == set(order_of(report)[: len(sent_events)])
    assert list(sent_events) == [key for key in report.events if key in sent_events]
    for key, event in sent_events.items():
        was = report.events[key]
        assert without_texts(event) == without_texts(was)
        assert event.cause_id == (was.cause_id if was.cause_id in sent_events else None)
    missing = len(sent_events) < len(report.events)
    pairs = [
        pair
        for key, event in sent_events.items()
        for pair in zip(texts_of(report.events[key]), texts_of(event), strict=True)
    ]
    fits = [
        all(now == truncate_redacted(was, limit) for was, now in pairs) for limit in (2000, 200, 60)
    ]
    assert fits[2] if missing else any(fits)
    assert reply.report.omitted is (report.omitted or missing)
    assert reply.report.failure_id == (
        report.failure_id if report.failure_id in sent_events else None
    )


def truncate_redacted(text: str, limit: int) -> str:
    """Return a text of at max_bytes `limit` characters; a cut one ends in an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


@LAX
@given(*SENT)
def test_what_is_sent_is_a_valid_report(
    sent: tuple[FailureReport, Mapping[str, SpanContext]], max_bytes: int
) -> None:
    """It passes the strict schema, as Gym's does: every cause and own failure is in it."""
    reply = encode_headers(*sent, max_bytes)
    if reply is not None:
        assert FailureReport.model_validate(json.loads(plain(reply.report))) == reply.report


@pytest.mark.slow
@LAX
@given(*SENT)
def test_the_input_is_left_alone(
    sent: tuple[FailureReport, Mapping[str, SpanContext]], max_bytes: int
) -> None:
    """Neither the report nor the spans change."""
    report, spans = sent
    before, spans_before = report.model_copy(deep=True), dict(spans)
    encode_headers(report, spans, max_bytes)
    assert report == before
    assert list(report.events) == list(before.events)
    assert spans == spans_before


@pytest.mark.slow
@LAX
@given(report_with_spans(), st.integers(0, 3000), st.integers(0, 3000))
def test_more_bytes_never_send_fewer_events(
    sent: tuple[FailureReport, Mapping[str, SpanContext]], first: int, second: int
) -> None:
    """With more bytes no event is missing that was sent with fewer."""
    little, much = (encode_headers(*sent, max_bytes) for max_bytes in sorted((first, second)))
    if little is not None:
        assert much is not None
        assert set(little.report.events) <= set(much.report.events)


# --- encoding: examples


def test_every_field_is_in_the_value() -> None:
    """The value has the documented form: an event under its id, which it does not repeat."""
    event = one(
        "e2",
        boundary="sandbox",
        failure_reason="the sandbox died",
        exception_type="SandboxDied",
        http_status=502,
        stage="agent",
        operation="exec",
        operation_id="op-1",
        attempt_id="try-2",
        cause_id="e1",
        foreign_error={"exception_type": "OSError", "message": "gone", "http_status": 410},
        details={"provider": "docker", "sandbox_id": "sb", "execution_id": "ex", "exit_code": -9},
    )
    report = report_of(one("e1"), event, failure_id="e2")
    value = encode_headers(report, {}, 3072).report_value
    assert json.loads(value) == {
        "events": {
            "e1": {"failure_kind": "judge_failed", "boundary": "agent", "failure_reason": ""},
            "e2": {
                "failure_kind": "judge_failed",
                "boundary": "sandbox",
                "failure_reason": "the sandbox died",
                "exception_type": "SandboxDied",
                "http_status": 502,
                "stage": "agent",
                "operation": "exec",
                "operation_id": "op-1",
                "attempt_id": "try-2",
                "cause_id": "e1",
                "foreign_error": {
                    "exception_type": "OSError",
                    "message": "gone",
                    "http_status": 410,
                },
                "details": {
                    "provider": "docker",
                    "sandbox_id": "sb",
                    "execution_id": "ex",
                    "exit_code": -9,
                },
            },
        },
        "failure_id": "e2",
        "omitted": False,
    }


def test_plain_json_fits_to_the_byte() -> None:
    """Plain JSON is sent at exactly its size; with a byte less it is compressed, but not cut."""
    report = report_of(one(failure_reason="a" * 300), failure_id="e1")
    spans = {"e1": remote_span(1, 2)}
    exact = lines(ReplyHeaders(report, plain(report), encode_spans(spans)))
    assert encode_headers(report, spans, exact).report_value == plain(report)
    less = encode_headers(report, spans, exact - 1)
    assert not less.report_value.startswith("{")
    assert less.report == report


@pytest.mark.parametrize("limit", [200, 60])
@pytest.mark.parametrize("field", ["failure_reason", "provider_status_reason", "message"])
def test_texts_are_cut_before_an_event_is_left_out(field: str, limit: int) -> None:
    """The three texts are cut to 200, then to 60 characters; `omitted` stays false."""

    def made(text: str, number: int) -> FailureEvent:
        fields: dict[str, Any] = {
            "failure_reason": {"failure_reason": text},
            "provider_status_reason": {
                "boundary": "sandbox",
                "details": {"provider_status_reason": text},
            },
            "message": {"foreign_error": {"exception_type": "E", "message": text}},
        }[field]
        return one(f"e{number}", **fields)

    long = [prose(number, 2000) for number in range(3)]
    report = report_of(*(made(text, number) for number, text in enumerate(long)), failure_id="e2")
    cut = report_of(
        *(made(text[: limit - 1] + "…", number) for number, text in enumerate(long)),
        failure_id="e2",
    )
    max_bytes = lines(ReplyHeaders(cut, plain(cut), None))
    reply = encode_headers(report, {}, max_bytes)
    assert reply.report == cut
    assert reply.report.omitted is False
    assert [len(max(texts_of(event), key=len)) for event in reply.report.events.values()] == [
        limit
    ] * 3


def test_other_texts_are_never_cut() -> None:
    """Kinds, names and ids are whole, or their event is left out."""
    event = one(
        operation=prose(1, 256),
        exception_type=prose(2, 256),
        operation_id="o" * 128,
        failure_kind="k" * 300,
    )
    whole = encode_headers(report_of(event), {}, 3072)
    assert whole.report.events["e1"] == event
    assert encode_headers(report_of(event), {}, 400).report == NOTHING_FITS


def test_the_own_chain_stays_longest() -> None:
    """The own chain is kept first, from the own failure down; the last one has no cause."""
    own, other = chain_of(8, prefix="own", reason=60), chain_of(8, prefix="other", reason=60)
    report = report_of(*own, *other, failure_id="own7")
    counts = set()
    for max_bytes in range(100, 1600, 5):
        reply = encode_headers(report, {}, max_bytes)
        sent_events = reply.report.events
        counts.add(len(sent_events))
        expected = [f"own{number}" for number in range(7, -1, -1)] + [
            f"other{number}" for number in range(7, -1, -1)
        ]
        assert set(sent_events) == set(expected[: len(sent_events)])
        if 0 < len(sent_events) < 8:
            assert reply.report.failure_id == "own7"
            assert sent_events[f"own{8 - len(sent_events)}"].cause_id is None
    assert counts == set(range(max(counts) + 1))
    assert max(counts) > 10


def test_without_an_own_failure_the_newest_stay() -> None:
    """The last events are kept; a report lists them in the order of their recording."""
    report = report_of(
        *(one(f"e{number}", failure_reason=prose(number, 60)) for number in range(9))
    )
    reply = encode_headers(report, {}, 500)
    sent_events = list(reply.report.events)
    assert 0 < len(sent_events) < 9
    assert sent_events == [f"e{number}" for number in range(9 - len(sent_events), 9)]
    assert reply.report.omitted


def test_a_cause_outside_is_cleared_and_the_event_kept() -> None:
    """An event whose cause did not fit is sent without one, and `omitted` is set."""
    effect, cause = one("effect", cause_id="cause"), one("cause", failure_kind=prose(1, 3000))
    reply = encode_headers(report_of(cause, effect, failure_id="effect"), {}, 300)
    assert reply.report == report_of(one("effect"), failure_id="effect", omitted=True)


def test_an_own_failure_that_does_not_fit_is_not_named() -> None:
    """`failure_id` is absent, and `omitted` says why."""
    reply = encode_headers(
        report_of(one("small"), one("own", failure_kind=prose(1, 3000)), failure_id="own"), {}, 300
    )
    assert reply.report.failure_id is None
    assert reply.report.omitted
    assert "own" not in reply.report.events
    assert "failure_id" not in json.loads(reply.report_value)


def test_omitted_is_carried_over() -> None:
    """A report that was incomplete stays so, even if everything fits."""
    reply = encode_headers(report_of(one(), omitted=True), {}, 3072)
    assert reply.report.omitted
    assert list(reply.report.events) == ["e1"]
    assert json.loads(reply.report_value)["omitted"] is True


def test_nothing_fits() -> None:
    """An empty report says that events are missing; if not even that fits, there is none."""
    report = report_of(one(failure_kind=prose(1, 300)), failure_id="e1")
    spans = {"e1": remote_span(1, 1)}
    least = lines(ReplyHeaders(NOTHING_FITS, plain(NOTHING_FITS), None))
    reply = encode_headers(report, spans, least)
    assert reply == ReplyHeaders(NOTHING_FITS, '{"events":{},"omitted":true}', None)
    assert lines(reply) == least
    assert encode_headers(report, spans, 10) is None
    assert encode_headers(report, spans, 0) is None
    assert encode_headers(report, spans, -1) is None


def test_spans_go_with_their_events() -> None:
    """Only events that are sent have a span, and its bytes are counted."""
    made = chain_of(12, reason=60)
    report = report_of(*made, failure_id="e11")
    spans = {
        event.event_id: remote_span(2**127 + number, number + 1)
        for number, event in enumerate(made)
    }
    for max_bytes in range(300, 1600, 50):
        reply = encode_headers(report, spans, max_bytes)
        assert lines(reply) <= max_bytes
        assert decode_spans(reply.spans_value or "") == {
            key: spans[key] for key in reply.report.events
        }


SIMILAR = [
    report_of(
        *(one(f"e{number}", failure_reason="the same long answer " * 95) for number in range(40))
    ),
    report_of(
        *(
            one(f"e{number}", foreign_error={"exception_type": "E", "message": "x" * 2000})
            for number in range(256)
        )
    ),
    report_of(*(one(f"e{number}", failure_reason="\x00" * 2000) for number in range(6))),
]


@pytest.mark.parametrize("report", SIMILAR, ids=["retries", "messages", "controls"])
def test_a_report_that_compresses_well_can_be_read(report: FailureReport) -> None:
    """A reader takes what is sent, however well it compresses."""
    reply = encode_headers(report, {}, 3072)
    assert len(plain(reply.report)) <= INFLATED
    assert decode_report(reply.report_value) == reply.report


@pytest.mark.parametrize("max_bytes", [3072, 65_536])
def test_many_events_can_be_read(max_bytes: int) -> None:
    """No more events are sent than a reader takes, and `omitted` is set."""
    reply = encode_headers(
        report_of(*(one(f"e{number}") for number in range(300)), failure_id="e3"), {}, max_bytes
    )
    assert len(reply.report.events) <= 256
    assert reply.report.omitted
    assert decode_report(reply.report_value) == reply.report


@pytest.mark.parametrize("code", [10**5000, -(10**5000)], ids=["plus", "minus"])
def test_a_number_of_5000_digits_costs_no_report(code: int) -> None:
    """An exit code that Python does not print raises nothing; the other events are sent."""
    report = report_of(
        one("e0"), one(boundary="sandbox", details={"exit_code": code}), failure_id="e0"
    )
    reply = encode_headers(report, {}, 65_536)
    assert "e0" in reply.report.events


def test_an_empty_id_comes_back() -> None:
    """An event with an empty id is sent like any other; it has no span."""
    reply = encode_headers(report_of(one(""), failure_id=""), {"": remote_span(1, 1)}, 3072)
    assert decode_report(reply.report_value) == reply.report
    assert decode_spans(reply.spans_value) == {}


def test_a_cut_through_a_marker_comes_back() -> None:
    """A text that was redacted and then cut is read as it was sent."""
    reason = prose(1, 36) + " Authorization: [redacted:credentials] " + prose(2, 1900)
    event = one(failure_reason=reason)
    assert redact_event(event) == event
    cut = report_of(one(failure_reason=reason[:59] + "…"))
    reply = encode_headers(report_of(event), {}, lines(ReplyHeaders(cut, plain(cut), None)))
    (sent,) = reply.report.events.values()
    assert sent.failure_reason == reason[: reason.index("[")] + "…"
    assert decode_report(reply.report_value) == reply.report


# --- decoding: the forms


FIELDS = {"failure_kind": "judge_failed", "boundary": "agent", "failure_reason": "né"}
DOCUMENT = {
    "events": {"e1": FIELDS, "e2": {**FIELDS, "cause_id": "e1"}},
    "failure_id": "e2",
    "omitted": False,
}
READ = FailureReport.model_validate(DOCUMENT)


def packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


def document(text: str | bytes | object) -> bytes:
    return text.encode() if isinstance(text, str) else json.dumps(text).encode()


FORMS = {
    "zlib": zlib.compress,
    "stored": lambda data: zlib.compress(data, 0),
    "gzip": gzip.compress,
    "plain": bytes,
}


@pytest.mark.parametrize(
    "alphabet", [base64.b64encode, base64.urlsafe_b64encode], ids=["base64", "base64url"]
)
@pytest.mark.parametrize("padding", ["=", "", "==="], ids=["padded", "unpadded", "overpadded"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("spaces", range(3))
def test_each_form_is_read(alphabet: Any, padding: str, form: str, spaces: int) -> None:
    """Base64 or base64url of JSON, zlib or gzip is read, with any padding."""
    value = alphabet(FORMS[form](document(DOCUMENT) + b" " * spaces)).decode()
    if padding != "=":
        value = value.rstrip("=") + padding
    assert decode_report(value) == READ


@pytest.mark.parametrize(
    "alphabet", [base64.b64encode, base64.urlsafe_b64encode], ids=["base64", "base64url"]
)
def test_both_alphabets_hold_what_differs(alphabet: Any) -> None:
    """A value in which the two alphabets differ is read in both."""
    text = json.dumps({"events": {"ÿÿ>>??~~~" * 3: FIELDS}}, ensure_ascii=False)
    value = alphabet(text.encode()).decode()
    assert set(value) & set("+/-_")
    assert list(decode_report(value).events) == ["ÿÿ>>??~~~" * 3]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("around", ["", " ", "\t \r\n"])
def test_plain_json_is_read(indent: int | None, ascii_only: bool, around: str) -> None:
    """JSON is read in any layout, with white space around it."""
    assert (
        decode_report(
            around + json.dumps(DOCUMENT, indent=indent, ensure_ascii=ascii_only) + around
        )
        == READ
    )


def test_an_event_may_repeat_its_id() -> None:
    """An event is read with or without its id; the key wins, as causes name it."""
    for own in ({}, {"event_id": "e1"}, {"event_id": "other"}, {"event_id": None}, {"event_id": 7}):
        decoded = decode_report(json.dumps({"events": {"e1": {**FIELDS, **own}}}))
        assert decoded == report_of(one("e1", failure_reason="né"))


def test_nulls_are_absent() -> None:
    """A null is read as an absent field."""
    nulls = dict.fromkeys(set(FailureEvent.model_fields) - set(FIELDS))
    value = json.dumps({"events": {"e1": {**FIELDS, **nulls}}, "failure_id": None, "omitted": None})
    assert decode_report(value) == report_of(one("e1", failure_reason="né"))
    inner = {
        "boundary": "sandbox",
        "details": dict.fromkeys(SandboxFailureDetails.model_fields),
        "foreign_error": {"exception_type": "E", "message": "m", "http_status": None},
    }
    (event,) = decode_report(json.dumps({"events": {"e1": {**FIELDS, **inner}}})).events.values()
    assert event.details == SandboxFailureDetails()
    assert event.foreign_error.http_status is None


@pytest.mark.parametrize("value", ['{"omitted":true}', '{"failure_id":null,"omitted":true}'])
def test_a_report_without_events_is_one(value: str) -> None:
    """A report with only `omitted` is valid by the schema, and is read."""
    assert FailureReport.model_validate_json(value) == NOTHING_FITS
    assert decode_report(value) == NOTHING_FITS


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "=",
        "====",
        "null",
        "[]",
        "1",
        '"x"',
        "true",
        "{}{}",
        "{",
        '{"events":{}',
        '{"events":[]}',
        '{"events":null}',
        '{"events":"x"}',
        '{"events":7}',
        '{"events":{}}x',
        "{'events':{}}",
        "not a report",
        "é",
        "\x00",
        "\ud800",
        "A",
        "AAAAA",
        "AA AA",
        "AA\nAA",
        packed(b"[]"),
        packed(b"not json"),
        packed(b"{"),
        packed(zlib.compress(b"")),
        packed(zlib.compress(b"[1]")),
        packed(zlib.compress(b"\xff\xfe")),
        packed(zlib.compress(b'"\\ud800"')),
        packed(b'{"events":{}}') + "=A",
        packed(document(DOCUMENT)) + "*",
        packed(b'{"events":{}}\xff'),
        packed(zlib.compressobj(wbits=-15).compress(b"{}")),
        '{"events":{"e":' + "9" * 5000 + "}}",
        "9" * 60_000,
    ],
)
def test_another_value_is_no_report(value: str) -> None:
    """Another document, another encoding or half of a report is None."""
    assert decode_report(value) is None


# --- decoding: damage in events


@pytest.mark.parametrize(
    "kind", ["_OTHER", "My Kind!", "päng", "server:odd_kind", "x" * 3000, "\x00"]
)
def test_an_unknown_kind_is_kept(kind: str) -> None:
    """Any kind that is not empty is kept as it is."""
    assert (
        decode_report(json.dumps({"events": {"e1": {**FIELDS, "failure_kind": kind}}}))
        .events["e1"]
        .failure_kind
        == kind
    )


@pytest.mark.parametrize("kind", [{}, {"failure_kind": ""}, {"failure_kind": None}])
def test_a_kind_that_is_missing_is_other(kind: dict[str, Any]) -> None:
    """A failure without a kind is kept as `_OTHER`."""
    assert (
        decode_report(json.dumps({"events": {"e1": {"boundary": "agent", **kind}}}))
        .events["e1"]
        .failure_kind
        == "_OTHER"
    )


def test_unknown_fields_are_left_out() -> None:
    """Fields of a newer writer are left out, and nothing else is lost."""
    fields = {
        **FIELDS,
        "boundary": "sandbox",
        "newer": {"x": [1]},
        "details": {"exit_code": 1, "newer": 2},
        "foreign_error": {"exception_type": "E", "message": "m", "newer": None, "newest": []},
    }
    decoded = decode_report(json.dumps({"events": {"e1": fields}, "version": 9}))
    parts = {"details": {"exit_code": 1}, "foreign_error": {"exception_type": "E", "message": "m"}}
    assert decoded == report_of(one("e1", boundary="sandbox", failure_reason="né", **parts))


WRONG: list[Any] = [
    None,
    True,
    0,
    -1,
    600,
    1.5,
    1e400,
    10**4000,
    "",
    "x",
    "\ud800",
    "x" * 5000,
    [],
    [[]],
    {},
    {"x": {}},
]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: ascii(value)[:12])
@pytest.mark.parametrize(
    "field", [name for name in FailureEvent.model_fields if name != "boundary"]
)
@pytest.mark.parametrize("boundary", ["agent", "sandbox", "model"])
def test_a_field_of_the_wrong_type_costs_no_event(field: str, value: Any, boundary: str) -> None:
    """The field is repaired or left out; event and report stay valid."""
    decoded = decode_report(
        json.dumps({"events": {"e1": {**FIELDS, "boundary": boundary, field: value}, "e2": FIELDS}})
    )
    assert list(decoded.events) == ["e1", "e2"]
    assert decoded.events["e2"] == one("e2", failure_reason="né")
    assert FailureReport.model_validate(decoded.model_dump()) == decoded
    assert decoded.events["e1"].boundary.value == boundary


@pytest.mark.parametrize("value", WRONG, ids=lambda value: ascii(value)[:12])
@pytest.mark.parametrize(
    ("boundary", "part", "field"),
    [
        *[("sandbox", "details", name) for name in SandboxFailureDetails.model_fields],
        *[("model", "details", name) for name in ModelFailureDetails.model_fields],
        *[
            ("agent", "foreign_error", name)
            for name in ("exception_type", "message", "http_status")
        ],
    ],
)
def test_a_part_of_the_wrong_type_costs_no_event(
    boundary: str, part: str, field: str, value: Any
) -> None:
    """The same holds inside details and a foreign error."""
    whole = {"exception_type": "E", "message": "m"} if part == "foreign_error" else {}
    decoded = decode_report(
        json.dumps(
            {"events": {"e1": {**FIELDS, "boundary": boundary, part: {**whole, field: value}}}}
        )
    )
    assert list(decoded.events) == ["e1"]
    assert FailureReport.model_validate(decoded.model_dump()) == decoded


@pytest.mark.parametrize("value", [None, True, 7, "x", [], [1]])
def test_an_entry_that_is_no_event_is_left_out(value: Any) -> None:
    """An entry that is no object is left out, and `omitted` is set."""
    decoded = decode_report(
        json.dumps({"events": {"bad": value, "e1": FIELDS}, "failure_id": "e1"})
    )
    assert decoded == report_of(one("e1", failure_reason="né"), failure_id="e1", omitted=True)


@pytest.mark.parametrize(
    "boundary", [{}, *({"boundary": value} for value in (None, "", "moon", "AGENT", 1, [], {}))]
)
def test_an_entry_without_a_boundary_is_left_out(boundary: dict[str, Any]) -> None:
    """An entry without a boundary is no event, so an effect of it has no cause."""
    fields = {"failure_kind": "judge_failed", **boundary}
    decoded = decode_report(
        json.dumps(
            {"events": {"bad": fields, "e1": {**FIELDS, "cause_id": "bad"}}, "failure_id": "bad"}
        )
    )
    assert decoded == report_of(one("e1", failure_reason="né"), omitted=True)


def test_details_on_a_boundary_without_them_are_left_out() -> None:
    """Only sandbox and model have details; the event is kept."""
    decoded = decode_report(json.dumps({"events": {"e1": {**FIELDS, "details": {"exit_code": 1}}}}))
    assert decoded == report_of(one("e1", failure_reason="né"))


@pytest.mark.parametrize(
    ("own", "omitted"),
    [
        ("gone", True),
        ("", True),
        ("x" * 4000, True),
        (None, False),
        (7, False),
        ([], False),
        ({}, False),
        (True, False),
    ],
)
def test_an_own_failure_that_names_nothing_is_null(own: Any, omitted: bool) -> None:
    """An id without its event means that one is missing; a value that is no id means nothing."""
    decoded = decode_report(json.dumps({"events": {"e1": FIELDS}, "failure_id": own}))
    assert decoded == report_of(one("e1", failure_reason="né"), omitted=omitted)


@pytest.mark.parametrize(
    ("omitted", "read"), [(True, True), (False, False), (1, False), ("true", False), ([], False)]
)
def test_only_true_sets_omitted(omitted: Any, read: bool) -> None:
    """Only the boolean true sets `omitted`."""
    assert decode_report(json.dumps({"events": {}, "omitted": omitted})).omitted is read


@pytest.mark.parametrize("length", [1, 2, 3, 200])
def test_a_ring_of_causes_is_opened(length: int) -> None:
    """One edge of a cycle is cleared, and all events stay."""
    ring = {
        f"e{number}": {**FIELDS, "cause_id": f"e{(number + 1) % length}"}
        for number in range(length)
    }
    decoded = decode_report(json.dumps({"events": ring, "failure_id": "e0"}))
    assert list(decoded.events) == list(ring)
    assert decoded.failure_id == "e0"
    assert sum(event.cause_id is None for event in decoded.events.values()) == 1
    assert not decoded.omitted


def test_a_cause_outside_is_cleared() -> None:
    """A cause that is not in the report is cleared."""
    decoded = decode_report(json.dumps({"events": {"e1": {**FIELDS, "cause_id": "gone"}}}))
    assert decoded.events["e1"].cause_id is None


def test_long_ids_still_meet() -> None:
    """An id that is too long becomes the same short one everywhere."""
    first, second = "😀" * 500 + "a", "😀" * 500 + "b"
    written = {first: FIELDS, second: {**FIELDS, "cause_id": first}}
    decoded = decode_report(json.dumps({"events": written, "failure_id": second}))
    (cause, _), (effect, event) = decoded.events.items()
    assert max(len(cause), len(effect)) <= 128
    assert (event.cause_id, decoded.failure_id, decoded.omitted) == (cause, effect, False)
    spans = decode_spans(encode_spans({"x" * 500: remote_span(1, 1)}))
    assert list(spans) == list(decode_report(json.dumps({"events": {"x" * 500: FIELDS}})).events)


def test_lone_surrogates_are_escaped() -> None:
    """JSON can hold lone surrogates; they are escaped, and causes still meet."""
    odd = "a\ud800b"
    fields = {
        **FIELDS,
        "failure_kind": odd,
        "failure_reason": odd,
        "operation": odd,
        "cause_id": odd,
        "operation_id": odd,
    }
    decoded = decode_report(json.dumps({"events": {odd: FIELDS, "e1": fields}, "failure_id": odd}))
    assert list(decoded.events) == ["a\\ud800b", "e1"]
    event = decoded.events["e1"]
    texts = (
        event.failure_kind,
        event.failure_reason,
        event.operation,
        event.operation_id,
        event.cause_id,
    )
    assert {*texts, decoded.failure_id} == {"a\\ud800b"}
    decoded.model_dump_json().encode()


def test_nul_is_text() -> None:
    """A NUL is kept in ids and texts."""
    decoded = decode_report(
        json.dumps(
            {"events": {"\x00": {**FIELDS, "failure_reason": "a\x00b"}}, "failure_id": "\x00"}
        )
    )
    assert decoded == report_of(one("\x00", failure_reason="a\x00b"), failure_id="\x00")


@pytest.mark.parametrize(
    "entry",
    SECRETS[:: max(1, len(SECRETS) // 40)],
    ids=lambda entry: entry.label,
)
def test_secrets_of_others_are_redacted(entry: Any) -> None:
    """Texts that a peer did not redact are redacted when they are read."""
    fields = {
        "boundary": "sandbox",
        "failure_kind": "session_lost",
        "failure_reason": entry.text,
        "foreign_error": {"exception_type": "E", "message": entry.text},
        "details": {"provider_status_reason": entry.text},
    }
    (event,) = decode_report(json.dumps({"events": {"e1": fields}})).events.values()
    assert redact_event(event) is event
    assert not [secret for secret in entry.secrets if secret in event.model_dump_json()]


# --- decoding: bounds


@pytest.mark.parametrize(("count", "read"), [(255, True), (256, True), (257, False), (2000, False)])
@pytest.mark.parametrize("form", FORMS)
def test_more_than_256_events_are_refused(count: int, read: bool, form: str) -> None:
    """Exactly 256 events are read."""
    text = json.dumps(
        {"events": {str(number): {"boundary": "agent"} for number in range(count)}}
    ).encode()
    assert len(text) <= INFLATED
    decoded = decode_report(packed(FORMS[form](text)))
    assert (decoded is not None) is read
    assert decoded is None or len(decoded.events) == count


@pytest.mark.parametrize(
    ("length", "read"), [(INFLATED - 1, True), (INFLATED, True), (INFLATED + 1, False)]
)
@pytest.mark.parametrize("form", ["zlib", "gzip"])
def test_64_kib_inflated_is_the_bound(length: int, read: bool, form: str) -> None:
    """A value that inflates to exactly 64 KiB is read, one byte more is refused."""
    text = document(DOCUMENT)
    assert (decode_report(packed(FORMS[form](text + b" " * (length - len(text))))) == READ) is read


@pytest.mark.parametrize(("length", "read"), [(INFLATED, True), (INFLATED + 1, False)])
def test_64_kib_of_header_is_the_bound(length: int, read: bool) -> None:
    """A value longer than 64 KiB is not read."""
    text = document(DOCUMENT).decode()
    assert (decode_report(text + " " * (length - len(text))) == READ) is read


@pytest.mark.parametrize("form", ["zlib", "gzip"])
@pytest.mark.parametrize("filler", [b" ", b"["])
def test_a_bomb_is_not_inflated(form: str, filler: bytes) -> None:
    """10 MB in a few KiB are refused and never held in memory."""
    value = packed(FORMS[form](document(DOCUMENT) + filler * 10_000_000))
    assert len(value) < INFLATED
    tracemalloc.start()
    try:
        decoded = decode_report(value)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert decoded is None
    assert peak < 1_000_000


@pytest.mark.parametrize("form", ["zlib", "gzip"])
def test_a_truncated_stream_is_refused(form: str) -> None:
    """A compressed report is refused wherever it ends early; the checksum is part of it."""
    whole = FORMS[form](document(DOCUMENT))
    assert decode_report(packed(whole)) == READ
    for end in range(len(whole)):
        assert decode_report(packed(whole[:end])) is None


@pytest.mark.parametrize("form", ["zlib", "gzip"])
def test_a_wrong_checksum_is_refused(form: str) -> None:
    """A compressed report that was damaged is refused."""
    whole = bytearray(FORMS[form](document(DOCUMENT)))
    whole[-5 if form == "gzip" else -1] ^= 1
    assert decode_report(packed(bytes(whole))) is None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "garbage", [b"x", b"\x00" * 9, b"{}", zlib.compress(b"{}"), b"\xff" * 1000]
)
def test_trailing_garbage_changes_nothing(form: str, garbage: bytes) -> None:
    """Bytes after a stream are ignored or refused, but never become part of the report."""
    assert decode_report(packed(FORMS[form](document(DOCUMENT)) + garbage)) in (None, READ)


DEEP = [
    '{"events":' * 9000 + "1" + "}" * 9000,
    '{"events":' + "[" * 60_000,
    '{"events":{"e1":{"boundary":"agent","failure_reason":' + "[" * 30_000 + "]" * 30_000 + "}}}",
    '{"events":{"e1":{"boundary":"agent","details":'
    + '{"a":' * 10_000
    + "1"
    + "}" * 10_000
    + "}}}",
]


@pytest.mark.parametrize("text", DEEP, ids=["events", "open", "reason", "details"])
@pytest.mark.parametrize("form", FORMS)
def test_deep_nesting_is_refused_or_repaired(text: str, form: str) -> None:
    """Deep nesting exhausts no stack, in any form."""
    values = [packed(FORMS[form](text.encode())), text]
    for value in values:
        decoded = decode_report(value)
        assert decoded is None or FailureReport.model_validate(decoded.model_dump()) == decoded


@pytest.mark.parametrize("depth", range(100, 1000, 50))
def test_nesting_that_is_just_read_is_repaired(depth: int) -> None:
    """Nesting that JSON reads but may not print becomes text or is left out."""
    nest = "[" * depth + "]" * depth
    decoded = decode_report(
        '{"events":{"e1":{"boundary":"agent","failure_reason":%s,"operation":%s}}}' % (nest, nest)  # noqa: UP031
    )
    assert decoded is None or list(decoded.events) == ["e1"]


@pytest.mark.parametrize(
    "number",
    ["9" * 4300, "-" + "9" * 4300, "1e999999", "-1e999999", "NaN", "Infinity", "0.1e-9999"],
)
@pytest.mark.parametrize(
    "field", ["exit_code", "provider_status_reason", "http_status", "cause_id", "failure_kind"]
)
def test_huge_numbers_cost_no_event(number: str, field: str) -> None:
    """A huge number is kept if an int may have any size, else left out or read as text."""
    inner = '"details":{"%s":%s}' if field in SandboxFailureDetails.model_fields else '"%s":%s'
    decoded = decode_report(
        '{"events":{"e1":{"boundary":"sandbox",%s}}}' % (inner % (field, number))
    )
    assert list(decoded.events) == ["e1"]
    assert encode_headers(decoded, {}, 65_536) is not None


# --- decoding: nothing raises


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("e1"), inner, max_size=3)
    ),
    max_leaves=8,
)
EVENT_LIKE = st.dictionaries(
    st.sampled_from(sorted(FailureEvent.model_fields)),
    JSONS
    | st.sampled_from(["agent", "sandbox", "model", "e1", "e2"])
    | st.dictionaries(
        st.sampled_from(
            [
                "exit_code",
                "provider",
                "message",
                "exception_type",
                "http_status",
                "request_upload_complete",
            ]
        ),
        JSONS,
    ),
)
REPORT_LIKE = st.fixed_dictionaries(
    {
        "events": JSONS
        | st.dictionaries(st.sampled_from(["e1", "e2", "", "\ud800"]), EVENT_LIKE | JSONS)
    },
    optional={"failure_id": JSONS | st.just("e1"), "omitted": JSONS},
)


def assert_valid(decoded: FailureReport | None) -> None:
    """Check that there is no report, or a valid and redacted one that can be sent on."""
    if decoded is None:
        return
    assert isinstance(decoded, FailureReport)
    assert FailureReport.model_validate(decoded.model_dump()) == decoded
    assert max((len(key) for key in decoded.events), default=1) <= 128
    decoded.model_dump_json().encode()
    assert redacted_all(decoded) == decoded


def redacted_all(report: FailureReport) -> FailureReport:
    return report.model_copy(
        update={"events": {key: redact_event(event) for key, event in report.events.items()}}
    )


@LAX
@given(
    st.text()
    | st.binary().map(lambda data: data.decode("latin-1"))
    | st.text(st.characters(codec=None))
)
def test_any_text_is_read_or_none(value: str) -> None:
    """Any characters, bytes as latin-1, or lone surrogates raise nothing, in both headers."""
    assert_valid(decode_report(value))
    assert_valid(decode_report("{" + value))
    decode_spans(value)


@LAX
@given(st.binary())
def test_any_bytes_in_base64_are_read_or_none(data: bytes) -> None:
    """Any bytes raise nothing, with or without the start of a zlib or gzip stream."""
    for head in (b"", b"{", b"x\x9c", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"):
        assert_valid(decode_report(packed(head + data)))
    assert_valid(decode_report(packed(zlib.compress(data))))


@LAX
@given(REPORT_LIKE)
def test_any_json_is_read_or_none(value: Any) -> None:
    """Any JSON raises nothing; what is read is valid and can be sent on as it is."""
    decoded = decode_report(json.dumps(value))
    assert_valid(decoded)
    assert (decoded is None) is (not isinstance(value["events"], dict))
    if decoded is not None:
        reply = encode_headers(decoded, {}, 65_536)
        assert reply.report == decoded
        assert decode_report(reply.report_value) == decoded


VALID = [
    plain(READ),
    packed(plain(READ).encode()),
    packed(zlib.compress(plain(READ).encode())),
    packed(gzip.compress(plain(READ).encode())),
]


@LAX
@given(st.data())
def test_any_change_of_a_valid_value_is_read_or_none(data: st.DataObject) -> None:
    """Changed, cut, repeated or inserted characters raise nothing."""
    value = data.draw(st.sampled_from(VALID))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(value)))
        put = data.draw(
            st.text(
                st.sampled_from('{}[]",:=-_+/\\AZaz09 \x00é\ud800') | st.characters(), max_size=4
            )
        )
        value = value[:at] + put + value[at + data.draw(st.integers(0, 4)) :]
    assert_valid(decode_report(value))


@LAX
@given(st.data())
def test_any_change_below_base64_is_read_or_none(data: st.DataObject) -> None:
    """Changed bytes below base64 raise nothing."""
    text = plain(READ).encode()
    changed = bytearray(
        data.draw(
            st.sampled_from(
                [text, zlib.compress(text), zlib.compress(text, 0), gzip.compress(text)]
            )
        )
    )
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed)))
        changed[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    assert_valid(decode_report(packed(bytes(changed))))


# --- the header of spans


TRACE, SPAN = "ab" * 16, "cd" * 8
SPAN_CONTEXT = remote_span(int(TRACE, 16), int(SPAN, 16))


@LAX
@given(
    st.dictionaries(
        IDS, SPAN_CONTEXTS | st.builds(remote_span, st.sampled_from([1, 2]), SPAN_IDS), max_size=6
    )
)
@example({})
@example({"a=b,c;d|e%f g": SPAN_CONTEXT, "%": SPAN_CONTEXT, "é\x00\r\n": remote_span(1, 1)})
@example({"😀" * 128: SPAN_CONTEXT})
@example({f"e{number}": remote_span(number % 3 + 1, number + 1) for number in range(256)})
def test_spans_come_back(spans: dict[str, SpanContext]) -> None:
    """decode_spans(encode_spans(spans)) == spans, for any ids, in printable ASCII."""
    value = encode_spans(spans)
    assert all("!" <= char <= "~" for char in value)
    assert decode_spans(value) == spans


def test_spans_are_written_by_trace() -> None:
    """`<trace id>;<percent-encoded event id>=<span id>,…`, traces separated by `|`."""
    spans = {"a b": remote_span(1, 2), "é": remote_span(2**128 - 1, 3), "c:d": remote_span(1, 4)}
    one_, many = "0" * 31 + "1", "f" * 32
    assert encode_spans(spans) == f"{one_};a%20b={2:016x},c:d={4:016x}|{many};%C3%A9={3:016x}"
    assert encode_spans({}) == ""


@pytest.mark.parametrize(
    "value",
    [
        "",
        "|",
        ";",
        "x",
        f"{TRACE}",
        f"{TRACE};",
        f"{TRACE};e1",
        f"{TRACE};e1=",
        f"{TRACE};={SPAN}",
        f";e1={SPAN}",
        f"e1={SPAN}",
        f"{TRACE},e1={SPAN}",
        f"{TRACE[1:]};e1={SPAN}",
        f"{TRACE}0;e1={SPAN}",
        f"0x{TRACE[2:]};e1={SPAN}",
        f"{TRACE[:-1]}g;e1={SPAN}",
        f"{TRACE.upper()};e1={SPAN}",
        f"{TRACE};e1={SPAN.upper()}",
        f"{TRACE};e1={SPAN[1:]}",
        f"{TRACE};e1={SPAN}0",
        f"{TRACE};e1={SPAN[:-1]}z",
        f"{TRACE};e1={'٣' * 16}",
        f"{TRACE};e1=-{SPAN[1:]}",
        f"{TRACE};e1={SPAN[:8]}_{SPAN[9:]}",
        f"{'0' * 32};e1={SPAN}",
        f"{TRACE};e1={'0' * 16}",
        f"{TRACE};e1={SPAN}={SPAN}",
        f"{TRACE};e1;e2={SPAN}",
        f"{TRACE};{'x' * 5000}={SPAN}",
        f"{TRACE};e1={SPAN}" + " " * INFLATED,
    ],
)
def test_another_value_is_no_span(value: str) -> None:
    """Ids that are not hex, in upper case, all zeros or of another length are left out."""
    assert decode_spans(value) == {}


@pytest.mark.parametrize(
    "damage", ["x", "", f"bad={SPAN}x", "=", f"={SPAN}", f"e2={'0' * 16}", "\x00", "\ud800", "é"]
)
def test_a_damaged_entry_costs_no_other_span(damage: str) -> None:
    """Entries and traces beside a damaged one are read."""
    assert decode_spans(f"{TRACE};{damage},e1={SPAN}") == {"e1": SPAN_CONTEXT}
    assert decode_spans(f"{TRACE};e1={SPAN},{damage}") == {"e1": SPAN_CONTEXT}
    assert decode_spans(f"{damage}|{TRACE};e1={SPAN}") == {"e1": SPAN_CONTEXT}
    assert decode_spans(f"{TRACE};e1={SPAN}|{damage}") == {"e1": SPAN_CONTEXT}


def test_white_space_between_spans_is_ignored() -> None:
    """Headers are folded and joined with spaces on the way."""
    assert decode_spans(f" {TRACE};e1={SPAN} , e2={SPAN} | {TRACE};e3={SPAN} ") == {
        "e1": SPAN_CONTEXT,
        "e2": SPAN_CONTEXT,
        "e3": SPAN_CONTEXT,
    }


def test_the_first_of_two_spans_wins() -> None:
    """The first span of an event wins: an event is recorded once."""
    other = f"{1:016x}"
    assert decode_spans(f"{TRACE};e1={SPAN},e1={other}|{1:032x};e1={other}") == {"e1": SPAN_CONTEXT}
    assert decode_spans(f"{TRACE};%65%31={SPAN},e1={other}") == {"e1": SPAN_CONTEXT}


def test_more_than_256_spans_are_not_read() -> None:
    """The first 256 spans are read, in one trace or in many."""
    entries = [f"e{number}={number + 1:016x}" for number in range(400)]
    for value in (
        f"{TRACE};" + ",".join(entries),
        "|".join(f"{TRACE};{entry}" for entry in entries),
    ):
        assert list(decode_spans(value)) == [f"e{number}" for number in range(256)]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("%", "%"),
        ("%%", "%%"),
        ("%4", "%4"),
        ("%zz", "%zz"),
        ("%00", "\x00"),
        ("%0d%0a", "\r\n"),
        ("%2C%3D%3B%7C", ",=;|"),
        ("%252C", "%2C"),
        ("%c3%a9", "é"),
        ("%C3%A9", "é"),
        ("%ff%fe", "��"),
        ("%ed%a0%80", "���"),
        ("%u0041", "%u0041"),
        ("a+b", "a+b"),
        ("é", "é"),
        ("\ud800", "\\ud800"),
    ],
)
def test_hostile_percent_encoding_is_read_as_text(written: str, read: str) -> None:
    """It is decoded once, as UTF-8 with U+FFFD for invalid bytes: the text is always valid."""
    assert decode_spans(f"{TRACE};{written}={SPAN},e1={SPAN}") == {
        read: SPAN_CONTEXT,
        "e1": SPAN_CONTEXT,
    }
    read.encode()


@LAX
@given(st.data())
def test_any_change_of_spans_is_read(data: st.DataObject) -> None:
    """Changes raise nothing, and every id that is read is valid and fits."""
    value = encode_spans({"e1": SPAN_CONTEXT, "a,b": remote_span(1, 2), "é": remote_span(2, 3)})
    for _ in range(data.draw(st.integers(0, 5))):
        at = data.draw(st.integers(0, len(value)))
        put = data.draw(
            st.text(st.sampled_from("0af;=,|% é\ud800\x00") | st.characters(codec=None), max_size=4)
        )
        value = value[:at] + put + value[at + data.draw(st.integers(0, 4)) :]
    for key, span in decode_spans(value).items():
        assert len(key.encode("utf-8")) > 0
        assert len(key) <= 128
        assert 0 < span.trace_id < 2**128
        assert 0 < span.span_id < 2**64
