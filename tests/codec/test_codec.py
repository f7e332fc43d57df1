"""The codec: records become attributes and come back, within every limit and after damage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from failgraph import (
    FailureBoundary,
    FailureEvent,
    FailureReport,
    SandboxFailureDetails,
)
from failgraph.codec import AttributeLimits, CauseSpan, decode, encode_event, encode_report
from failgraph.codec.event_decoder import decode_event
from failgraph.codec.report_encoder import HopSummary, report_attributes
from failgraph.failure.kinds import fits_pattern
from failgraph.losses import MEANING
from record_strategies import events, reports, strings_of

P = "nemo.gym.failure."
LAX = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def one(**fields: Any) -> FailureEvent:
    """Return a small event with the given fields."""
    return FailureEvent(
        **{"event_id": "e1", "failure_kind": "judge_failed", "boundary": "agent", **fields}
    )


FULL = one(
    boundary="sandbox",
    failure_reason="the sandbox died",
    exception_type="SandboxDied",
    http_status=502,
    stage="agent",
    operation="exec",
    operation_id="op-1",
    attempt_id="try-2",
    cause_id="e0",
    foreign_error={"exception_type": "OSError", "message": "gone", "http_status": 410},
    details={
        "provider": "docker",
        "sandbox_id": "sb",
        "execution_id": "ex",
        "exit_code": -9,
        "provider_status_reason": "OOMKilled",
    },
)
FULL_KEYS = {
    "error.type": "judge_failed",
    P + "id": "e1",
    P + "boundary": "sandbox",
    P + "kind": "judge_failed",
    P + "reason": "the sandbox died",
    P + "stage": "agent",
    P + "cause.id": "e0",
    P + "cause.trace_id": "ab" * 16,
    P + "cause.span_id": "cd" * 8,
    P + "operation.name": "exec",
    P + "operation.id": "op-1",
    P + "operation.attempt_id": "try-2",
    P + "exception.type": "SandboxDied",
    P + "http_status": 502,
    P + "sandbox.provider": "docker",
    P + "sandbox.sandbox_id": "sb",
    P + "sandbox.execution_id": "ex",
    P + "sandbox.exit_code": -9,
    P + "sandbox.provider_status_reason": "OOMKilled",
    P + "foreign.type": "OSError",
    P + "foreign.message": "gone",
    P + "foreign.http_status": 410,
    P + "seq": 7,
    P + "remote": True,
    P + "late": True,
}  # the table of attributes in docs/design.md, row by row
CAUSE = CauseSpan("ab" * 16, "cd" * 8)


# --- law 1: decode(encode(report)) == report


@LAX
@given(reports())
@example(FailureReport())
@example(FailureReport(omitted=True))
@example(FailureReport(events={"": one(event_id="")}, failure_id=""))
@example(FailureReport(events={"e1": one(boundary="sandbox", details={})}))
@example(FailureReport(events={"e1": one(boundary="model", details={})}))
@example(FailureReport(events={"e1": one(failure_reason="€" * 2000)}))
def test_a_report_comes_back_as_it_was(report: FailureReport) -> None:
    """The report and its order come back; the only loss flags a kind that fits no name pattern."""
    back, losses = decode(*encode_report(report))
    assert back == report
    assert list(back.events) == list(report.events)
    odd = sum(not fits_pattern(event.failure_kind) for event in report.events.values())
    assert [loss.kind for loss in losses] == ["unknown_kind"] * odd


@LAX
@given(events(), st.none() | st.just(20), st.booleans(), st.booleans(), st.none() | st.just(CAUSE))
@example(one(boundary="sandbox", details={"exit_code": 2**70}), 20, False, False, None)
@example(one(boundary="sandbox", details={"exit_code": 10**2500}), None, False, False, None)
@example(one(event_id="i" * 128, cause_id="c" * 128, failure_kind="k" * 21), 20, True, True, CAUSE)
def test_an_event_comes_back_within_the_limit_on_values(
    event: FailureEvent, length: int | None, remote: bool, late: bool, cause: CauseSpan | None
) -> None:
    """No string is over 2,000 bytes or over the value limit, and event, flags and seq come back."""
    attributes = encode_event(
        event,
        seq=3,
        remote=remote,
        late=late,
        cause=cause,
        limits=AttributeLimits(value_length=length),
    )
    for text in strings_of(attributes):
        assert len(text.encode()) <= 2000
        assert length is None or len(text) <= length
    back = decode_event(attributes)
    assert back.event == event
    assert (back.event_id, back.remote, back.late, back.seq) == (event.event_id, remote, late, 3)
    assert {loss.kind for loss in back.losses} <= {"unknown_kind"}


@pytest.mark.parametrize("length", [None, 20])
@pytest.mark.parametrize("code", [10**5000, -(10**5000)], ids=["plus", "minus"])
def test_a_number_of_5000_digits_comes_back(code: int, length: int | None) -> None:
    """An exit code longer than Python prints comes back, in strings within the limits."""
    event = one(boundary="sandbox", details={"exit_code": code})
    attributes = encode_event(event, limits=AttributeLimits(value_length=length))
    back = decode_event(attributes)
    same = back.event == event  # a bool: pytest cannot print the number
    assert same
    assert back.losses == ()
    assert max(map(len, strings_of(attributes))) <= (length or 2000)


# --- what is written on an event


@LAX
@given(events(), st.none() | st.just(20))
def test_values_are_what_a_span_event_can_hold(event: FailureEvent, length: int | None) -> None:
    """Every value is a str, a bool, a 64-bit int or a non-empty tuple of non-empty str."""
    for value in encode_event(event, limits=AttributeLimits(value_length=length)).values():
        assert type(value) in (str, bool, int, tuple)
        if type(value) is int:
            assert -(2**63) <= value < 2**63
        if isinstance(value, tuple):
            assert value
            assert all(type(item) is str and item for item in value)


@pytest.mark.parametrize("char", ["é", "€", "😀"])
@pytest.mark.parametrize("lead", ["", "a", "ab", "abc"])
def test_no_chunk_ends_inside_a_character(char: str, lead: str) -> None:
    """The chunks together are the text, each filled to within one character of 2,000 bytes."""
    text = lead + char * 1990
    attributes = encode_event(one(failure_reason=text))
    chunks = [attributes[P + "reason"], *attributes[P + "reason_rest"]]
    assert "".join(chunks) == text
    for chunk in chunks[:-1]:
        assert 2000 - len(char.encode()) < len(chunk.encode()) <= 2000


@pytest.mark.parametrize(
    ("kind", "length", "continued"),
    [
        ("a" * 2000, None, False),
        ("a" * 2001, None, True),
        ("é" * 1000, None, False),
        ("é" * 1001, None, True),
        ("é" * 20, 20, False),
        ("é" * 21, 20, True),
        ("a" * 2001, 4000, True),
    ],
)
def test_only_a_text_over_the_limit_is_continued(
    kind: str, length: int | None, continued: bool
) -> None:
    """A text continues in `<key>_rest` only if it is over 2,000 bytes or over the value limit."""
    attributes = encode_event(one(failure_kind=kind), limits=AttributeLimits(value_length=length))
    assert (P + "kind_rest" in attributes) is continued


def test_each_field_has_its_attribute() -> None:
    """Each field has the key that the design gives it, and there are no other keys."""
    attributes = encode_event(FULL, seq=7, remote=True, late=True, cause=CAUSE)
    assert attributes.pop(P + "text_bytes") > 0
    assert attributes == FULL_KEYS


def test_an_absent_field_has_no_attribute() -> None:
    """A minimal event has only identity, error.type, seq and text_bytes."""
    assert set(encode_event(one())) == {
        "error.type",
        *(P + name for name in ("id", "boundary", "kind", "seq", "text_bytes")),
    }


@pytest.mark.parametrize("boundary", ["sandbox", "model"])
def test_details_without_a_field_are_named(boundary: str) -> None:
    """The attribute `details` is written only if the event has details without a single field."""
    assert encode_event(one(boundary=boundary, details={}))[P + "details"] == boundary
    assert P + "details" not in encode_event(one(boundary=boundary))
    assert P + "details" not in encode_event(FULL)


@pytest.mark.parametrize(
    ("code", "written"),
    [
        (0, 0),
        (-9, -9),
        (2**63 - 1, 2**63 - 1),
        (2**63, str(2**63)),
        (-(2**63), -(2**63)),
        (2**70, str(2**70)),
    ],
)
def test_an_integer_beyond_64_bits_is_decimal_text(code: int, written: object) -> None:
    """exit_code is an int if it fits into 64 bits, else decimal text."""
    value = encode_event(one(boundary="sandbox", details={"exit_code": code}))[
        P + "sandbox.exit_code"
    ]
    assert value == written
    assert type(value) is type(written)


@pytest.mark.parametrize("length", [None, 20])
def test_text_bytes_counts_every_text_of_the_record_once(length: int | None) -> None:
    """text_bytes is the UTF-8 size of all texts but error.type and the ids of the cause's span."""
    reason = "€" * 900  # 2,700 bytes: continued
    event = FULL.model_copy(update={"failure_reason": reason})
    texts = [
        "e1",
        "sandbox",
        "judge_failed",
        reason,
        "agent",
        "e0",
        "exec",
        "op-1",
        "try-2",
        "SandboxDied",
    ]
    texts += ["docker", "sb", "ex", "OOMKilled", "OSError", "gone"]
    expected = sum(len(text.encode()) for text in texts)
    for cause in (None, CAUSE):
        attributes = encode_event(event, cause=cause, limits=AttributeLimits(value_length=length))
        assert attributes[P + "text_bytes"] == expected
    # Counted before the limits leave attributes out.
    limited = encode_event(event, limits=AttributeLimits(attributes=12))
    assert limited[P + "text_bytes"] == expected


@pytest.mark.parametrize(
    ("kind", "length", "error_type"),
    [
        ("judge_failed", None, "judge_failed"),
        ("my_server:odd_kind", None, "my_server:odd_kind"),
        ("Judge failed!", None, "_OTHER"),
        ("judge_failed\n", None, "_OTHER"),
        ("_OTHER", None, "_OTHER"),
        ("k" * 20, 20, "k" * 20),
        ("k" * 21, 20, "_OTHER"),
        ("k" * 2000, None, "k" * 2000),
        ("k" * 2001, None, "_OTHER"),
    ],
)
def test_error_type_is_a_low_cardinality_kind(
    kind: str, length: int | None, error_type: str
) -> None:
    """error.type is `_OTHER` for a kind that fits no pattern or no value; it is never continued."""
    attributes = encode_event(one(failure_kind=kind), limits=AttributeLimits(value_length=length))
    assert attributes["error.type"] == error_type
    assert "error.type_rest" not in attributes


def test_sorted_by_key_the_first_three_say_what_failed() -> None:
    """Jaeger sorts by key: error.type, then boundary, then the cause."""
    attributes = encode_event(FULL, seq=7, remote=True, late=True, cause=CAUSE)
    assert sorted(attributes)[:3] == ["error.type", P + "boundary", P + "cause.id"]


# --- limits on attributes

IDENTITY = {P + "id", P + "kind", P + "boundary", P + "cause.id"}


@pytest.mark.parametrize(
    "event", [FULL, one(cause_id="e0"), FULL.model_copy(update={"failure_reason": "€" * 2000})]
)
def test_identity_comes_last(event: FailureEvent) -> None:
    """id, kind, boundary and cause.id are the last four, because the SDK keeps the last ones."""
    assert (
        set(list(encode_event(event, seq=7, remote=True, late=True, cause=CAUSE))[-4:]) == IDENTITY
    )


@pytest.mark.parametrize("limit", [4, 8, 12])
@pytest.mark.parametrize(
    "event", [FULL, one(cause_id="e0", failure_reason="€" * 2000, operation="x")]
)
@pytest.mark.parametrize("flags", [{}, {"remote": True, "late": True, "cause": CAUSE}])
def test_identity_survives_a_limit_on_attributes(
    event: FailureEvent, limit: int, flags: dict[str, Any]
) -> None:
    """id, kind, boundary and cause.id survive a limit of 4; a reader reports attribute_missing."""
    attributes = encode_event(event, seq=7, limits=AttributeLimits(attributes=limit), **flags)
    assert len(attributes) <= limit
    assert set(attributes) >= IDENTITY
    back = decode_event(attributes)
    assert back.event is not None
    assert back.event.model_dump(
        include={"event_id", "failure_kind", "boundary", "cause_id"}
    ) == event.model_dump(include={"event_id", "failure_kind", "boundary", "cause_id"})
    whole = len(encode_event(event, seq=7, **flags)) <= limit
    assert ("attribute_missing" in {loss.kind for loss in back.losses}) is not whole
    assert "text_cut" not in {loss.kind for loss in back.losses}


@pytest.mark.parametrize("length", [20])
def test_identity_survives_both_limits_together(length: int) -> None:
    """Ids of 128 characters come back whole from 8 attributes of 20 characters."""
    event = FULL.model_copy(
        update={"event_id": "i" * 128, "cause_id": "c" * 128, "failure_kind": "k" * 128}
    )
    attributes = encode_event(event, limits=AttributeLimits(attributes=8, value_length=length))
    back = decode_event(attributes).event
    assert len(attributes) <= 8
    assert back is not None
    assert (back.event_id, back.cause_id, back.failure_kind, back.boundary) == (
        "i" * 128,
        "c" * 128,
        "k" * 128,
        FailureBoundary.SANDBOX,
    )


@LAX
@given(events(), st.integers(1, 40))
def test_seq_is_left_out_first(event: FailureEvent, limit: int) -> None:
    """If any attribute is left out, seq is too, so its presence proves that none was."""
    whole = encode_event(event)
    remaining = encode_event(event, limits=AttributeLimits(attributes=limit))
    assert next(iter(whole)) == P + "seq"
    assert (P + "seq" in remaining) is (len(whole) <= limit)
    assert remaining.items() <= whole.items()


@LAX
@given(events(), st.integers(1, 30))
def test_attributes_that_the_sdk_drops_are_named(event: FailureEvent, dropped: int) -> None:
    """The SDK drops the oldest attributes of an event; the reader names the loss."""
    items = list(encode_event(event).items())[dropped:]
    back = decode_event(dict(items))
    assert {loss.kind for loss in back.losses} & {"attribute_missing", "id_missing"}


# --- what is written on the span of a hop


def seen(
    *chain: FailureEvent,
    failure_id: str | None = None,
    omitted: bool = False,
    total: int | None = None,
    root_span_id: str | None = None,
) -> HopSummary:
    """Return what a hop knows at its end, with these events."""
    events = {event.event_id: event for event in chain}
    seen_in_total = len(events) if total is None else total
    return HopSummary(events, failure_id, omitted, seen_in_total, root_span_id)


ROOT = one(event_id="root", failure_kind="provider_oom_killed", boundary="sandbox")
EFFECT = one(event_id="effect", failure_kind="agent_run_error", cause_id="root")
OTHER = one(event_id="other", failure_kind="agent_run_error", boundary="model")


def test_a_hop_without_failures_has_no_attributes() -> None:
    """A hop without failures gets no attributes."""
    assert report_attributes(seen()) == {}
    assert encode_report(FailureReport()) == ([], {})


def test_a_hop_has_the_attributes_of_the_table() -> None:
    """Each report attribute of the design has its value; kinds and boundaries are listed once."""
    attributes = report_attributes(
        seen(OTHER, ROOT, EFFECT, failure_id="effect", total=9, root_span_id="cd" * 8)
    )
    assert sorted(attributes.pop(P + "report.kinds")) == ["agent_run_error", "provider_oom_killed"]
    assert sorted(attributes.pop(P + "report.boundaries")) == ["agent", "model", "sandbox"]
    assert attributes == {
        P + "schema_version": 1,
        P + "report.id": "effect",
        P + "report.ids": ("other", "root", "effect"),
        P + "report.count": 9,
        P + "report.root.id": "root",
        P + "report.root.kind": "provider_oom_killed",
        P + "report.root.span_id": "cd" * 8,
    }


@pytest.mark.parametrize(
    ("hop", "absent"),
    [
        (seen(OTHER), {"report.id", "report.omitted", "report.root.span_id"}),
        (seen(OTHER, failure_id="other"), {"report.omitted", "report.root.span_id"}),
        (seen(OTHER, omitted=True), {"report.id", "report.root.span_id"}),
    ],
)
def test_an_absent_part_of_a_report_has_no_attribute(hop: HopSummary, absent: set[str]) -> None:
    """Absent: report.id on success, report.omitted if complete, report.root.span_id if unknown."""
    every = {
        "schema_version",
        *(f"report.{name}" for name in ("id", "ids", "count", "omitted", "kinds", "boundaries")),
    }
    every |= {"report.root.id", "report.root.kind", "report.root.span_id"}
    assert set(report_attributes(hop)) == {P + name for name in every - absent}


@pytest.mark.parametrize(
    ("hop", "root"),
    [
        (seen(OTHER, ROOT, EFFECT, failure_id="effect"), "root"),
        (seen(OTHER, ROOT, EFFECT, failure_id="other"), "other"),
        (seen(EFFECT, ROOT, OTHER), "root"),
        (seen(OTHER, ROOT), "other"),
    ],
)
def test_the_root_cause_is_the_end_of_the_own_chain(hop: HopSummary, root: str) -> None:
    """The root cause ends the own failure's chain, else it is the first event without a cause."""
    attributes = report_attributes(hop)
    assert attributes[P + "report.root.id"] == root
    assert attributes[P + "report.root.kind"] == hop.events[root].failure_kind


def test_a_value_limit_shorter_than_an_id_leaves_the_ids_out() -> None:
    """The array of ids and root.span_id are left out, and report.omitted is set."""
    hop = seen(one(event_id="i" * 21), failure_id="i" * 21, root_span_id="cd" * 8)
    attributes = report_attributes(hop, AttributeLimits(value_length=20))
    assert P + "report.ids" not in attributes
    assert P + "report.root.span_id" not in attributes
    assert attributes[P + "report.omitted"] is True
    assert all(len(text) <= 20 for text in strings_of(attributes))
    assert decode([encode_event(event) for event in hop.events.values()], attributes)[
        0
    ] == FailureReport(events=dict(hop.events), failure_id="i" * 21, omitted=True)
    fits = report_attributes(
        seen(one(event_id="i" * 20), root_span_id="cd" * 8), AttributeLimits(value_length=20)
    )
    assert fits[P + "report.ids"] == ("i" * 20,)
    assert P + "report.omitted" not in fits


def test_no_report_attribute_is_longer_than_the_value_limit() -> None:
    """The span id of the root cause is left out if the limit would cut it."""
    attributes = report_attributes(
        seen(one(event_id="e"), failure_id="e", root_span_id="cd" * 8),
        AttributeLimits(value_length=10),
    )
    assert all(len(text) <= 10 for text in strings_of(attributes))


@pytest.mark.parametrize("limit", range(12))
def test_report_attributes_take_only_free_places(limit: int) -> None:
    """They fit into the free places, and a report without its ids is never read as complete."""
    hop = seen(OTHER, ROOT, EFFECT, failure_id="effect", omitted=True, root_span_id="cd" * 8)
    attributes = report_attributes(hop, AttributeLimits(attributes=limit))
    assert len(attributes) <= limit
    back, _ = decode([encode_event(event) for event in hop.events.values()], attributes)
    assert back.omitted is (P + "schema_version" in attributes)


# --- reading damaged attributes


def kinds(losses: tuple[Any, ...]) -> list[str]:
    """Return the kinds of the losses, sorted."""
    return sorted(loss.kind for loss in losses)


def without(attributes: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the attributes without those of these names."""
    return {
        key: value for key, value in attributes.items() if key not in {P + name for name in names}
    }


def counted(attributes: dict[str, Any], more: int) -> dict[str, Any]:
    """Return the attributes with a `text_bytes` that counts `more` bytes of text."""
    return {**attributes, P + "text_bytes": attributes[P + "text_bytes"] + more}


CUT: list[tuple[str, Callable[[dict[str, Any]], dict[str, Any]], list[str]]] = [
    ("a string cut", lambda a: {**a, P + "reason": a[P + "reason"][:5]}, ["text_cut"]),
    ("an emptied string", lambda a: {**a, P + "foreign.message": ""}, ["text_cut"]),
    ("the seq gone", lambda a: without(a, "seq"), ["attribute_missing"]),
    ("text_bytes gone", lambda a: without(a, "text_bytes"), ["attribute_missing"]),
    ("seq and text gone", lambda a: without(a, "seq", "reason"), ["attribute_missing"]),
    ("seq of a wrong type", lambda a: {**a, P + "seq": "first"}, ["attribute_missing"]),
    ("a status out of range", lambda a: {**a, P + "http_status": 999}, ["unknown_field"]),
    ("a status that is true", lambda a: {**a, P + "http_status": True}, ["unknown_field"]),
    (
        "an exit code that is true",
        lambda a: {**a, P + "sandbox.exit_code": True},
        ["unknown_field"],
    ),
    ("an unknown stage", lambda a: {**a, P + "stage": "agenz"}, ["unknown_field"]),
    (
        "an unknown detail",
        lambda a: counted({**a, P + "sandbox.colour": "red"}, 3),
        ["unknown_field"],
    ),
    (
        "an unknown detail and a cut string",
        lambda a: {**counted({**a, P + "sandbox.colour": "red"}, 3), P + "reason": "the"},
        ["text_cut", "unknown_field"],
    ),
    (
        "a status out of range and a cut string",
        lambda a: {**a, P + "http_status": 999, P + "reason": "the"},
        ["text_cut", "unknown_field"],
    ),
    (
        "a field past its limit",
        lambda a: counted({**a, P + "reason": "r" * 2001}, 1985),
        ["text_cut"],
    ),
]


@pytest.mark.parametrize(
    ("damage", "losses"), [case[1:] for case in CUT], ids=[case[0] for case in CUT]
)
def test_damage_to_an_event_is_named_and_the_event_kept(
    damage: Callable[[dict[str, Any]], dict[str, Any]], losses: list[str]
) -> None:
    """A cut text, a missing key and a value outside the schema have a kind of loss each."""
    report, found_losses = decode([encode_event(one(event_id="e0")), damage(encode_event(FULL))])
    assert set(report.events) == {"e0", "e1"}
    assert sorted(set(kinds(found_losses))) == losses
    event = report.events["e1"]
    assert event.foreign_error is not None
    assert event.foreign_error.exception_type == "OSError"
    assert isinstance(event.details, SandboxFailureDetails)
    assert event.details.provider == "docker"


TEXT_KEYS = sorted(
    key
    for key, value in FULL_KEYS.items()
    if isinstance(value, str)
    and key not in {"error.type", P + "id", P + "cause.trace_id", P + "cause.span_id"}
)


@pytest.mark.parametrize("key", TEXT_KEYS)
def test_a_text_that_is_gone_is_named(key: str) -> None:
    """text_bytes shows that a text of the record did not arrive, whichever it is."""
    back = decode_event({name: value for name, value in encode_event(FULL).items() if name != key})
    assert set(kinds(back.losses)) & {"text_cut", "attribute_missing"}


def test_a_continuation_without_its_beginning_is_an_attribute_missing() -> None:
    """A `_rest` without its first string is no text."""
    attributes = encode_event(one(failure_reason="é" * 1500))
    back = decode_event(without(attributes, "reason"))
    assert back.event is not None
    assert back.event.failure_reason == ""
    assert set(kinds(back.losses)) == {"attribute_missing"}


def test_a_missing_kind_is_other() -> None:
    """An event without a kind is kept with the kind `_OTHER`."""
    back = decode_event(without(encode_event(FULL), "kind"))
    assert back.event is not None
    assert back.event.failure_kind == "_OTHER"
    assert "attribute_missing" in kinds(back.losses)


@pytest.mark.parametrize("name", ["operation.id", "operation.attempt_id", "cause.id"])
def test_an_id_past_its_limit_is_named(name: str) -> None:
    """An id of more than 128 characters cannot be kept as it is: a loss says so."""
    attributes = encode_event(FULL)
    grown = counted({**attributes, P + name: "x" * 129}, 129 - len(str(attributes[P + name])))
    assert kinds(decode_event(grown).losses)


def test_a_number_in_place_of_a_detail_s_text_is_named() -> None:
    """A value of a wrong type is never silently read as text."""
    attributes = encode_event(one(boundary="sandbox", details={"provider": "docker"}))
    back = decode_event({**counted(attributes, -6), P + "sandbox.provider": 5})
    assert kinds(back.losses) == ["unknown_field"]
    assert back.event == one(boundary="sandbox", details={})


def test_details_of_another_boundary_do_not_cost_the_right_ones() -> None:
    """Details of another boundary are left out and named; the event's own details stay."""
    attributes = counted({**encode_event(FULL), P + "model.provider_request_id": "r1"}, 2)
    back = decode_event(attributes)
    assert back.event is not None
    assert back.event.details == FULL.details
    assert kinds(back.losses) == ["unknown_field"]


def test_details_on_a_boundary_that_has_none_are_left_out() -> None:
    """Details on any boundary but sandbox and model are left out and named; the event is kept."""
    attributes = counted({**encode_event(one()), P + "sandbox.provider": "docker"}, 6)
    back = decode_event(attributes)
    assert back.event == one()
    assert kinds(back.losses) == ["unknown_field"]


def test_an_event_without_a_boundary_is_left_out() -> None:
    """There is no record without a boundary: attribute_missing, and the report is incomplete."""
    for damaged in (
        without(encode_event(FULL), "boundary"),
        {**encode_event(FULL), P + "boundary": "kitchen"},
    ):
        report, losses = decode([damaged])
        assert report.events == {}
        assert report.omitted
        assert "attribute_missing" in kinds(losses)


@pytest.mark.parametrize("value", [None, 5, True, ["e1"]])
def test_an_event_without_an_id_is_id_missing(value: object) -> None:
    """An event without an id cannot be counted: id_missing, and the report is incomplete."""
    attributes: dict[str, Any] = without(encode_event(FULL), "id")
    report, losses = decode([attributes if value is None else {**attributes, P + "id": value}])
    assert report.events == {}
    assert report.omitted
    assert "id_missing" in kinds(losses)


def test_a_missing_cause_is_cleared() -> None:
    """cause_missing names both ids, and the event is kept without a cause."""
    report, losses = decode([encode_event(FULL)])
    assert report.events["e1"].cause_id is None
    assert kinds(losses) == ["cause_missing"]
    assert "e0" in losses[0].detail
    assert "e1" in losses[0].detail


@pytest.mark.parametrize("size", [1, 2, 3, 5000])
def test_a_cycle_loses_one_edge(size: int) -> None:
    """A ring of causes keeps all events and all edges but the one that closes it."""
    ring = [one(event_id=str(at), cause_id=str((at + 1) % size)) for at in range(size)]
    report, losses = decode([encode_event(event) for event in ring])
    assert len(report.events) == size
    assert sum(event.cause_id is None for event in report.events.values()) == 1
    assert kinds(losses) == ["cycle"]


def test_a_duplicate_is_named_and_the_first_kept() -> None:
    """Of two copies by the observer the first is kept, and the loss is duplicate."""
    first, second = one(failure_reason="first"), one(failure_reason="second, with more text")
    report, losses = decode([encode_event(first), encode_event(second)])
    assert report.events == {"e1": first}
    assert kinds(losses) == ["duplicate"]


@pytest.mark.parametrize("swap", [False, True])
def test_the_observers_own_copy_wins(swap: bool) -> None:
    """The observer's copy wins over a peer's longer one, in either order, without a loss."""
    own, peer = one(failure_reason="short"), one(failure_reason="a longer text from a peer")
    pair = [encode_event(own), encode_event(peer, remote=True)]
    assert decode(pair[::-1] if swap else pair) == (FailureReport(events={"e1": own}), ())


@pytest.mark.parametrize("swap", [False, True])
def test_among_peers_the_copy_with_more_text_wins(swap: bool) -> None:
    """Of two peers' copies the one with more text is kept, in either order."""
    less, more = one(failure_reason="cut…"), one(failure_reason="the whole of it")
    pair = [encode_event(less, remote=True), encode_event(more, remote=True)]
    assert decode(pair[::-1] if swap else pair) == (FailureReport(events={"e1": more}), ())


def test_an_unreadable_own_copy_leaves_a_peers() -> None:
    """If the observer's copy has no boundary, a peer's copy is used."""
    report, losses = decode(
        [without(encode_event(one()), "boundary"), encode_event(one(), remote=True)]
    )
    assert report.events == {"e1": one()}
    assert "attribute_missing" in kinds(losses)


def test_ids_that_were_written_are_looked_up() -> None:
    """An id in report.ids or report.id without its event is event_missing: incomplete report."""
    attributes = {
        P + "schema_version": 1,
        P + "report.ids": ("e1", "gone"),
        P + "report.id": "own-gone",
    }
    report, losses = decode([encode_event(one())], attributes)
    assert report == FailureReport(events={"e1": one()}, omitted=True)
    assert [loss for loss in losses if "own-gone" in loss.detail]
    assert kinds(losses) == ["event_missing", "event_missing"]


def test_a_kind_that_fits_no_pattern_is_kept_and_flagged_once() -> None:
    """Any non-empty kind is kept; one that fits no name pattern gives one unknown_kind."""
    report, losses = decode([encode_event(one(failure_kind="Judge failed!"))])
    assert report.events["e1"].failure_kind == "Judge failed!"
    assert kinds(losses) == ["unknown_kind"]


def test_decoded_arrays_may_be_lists() -> None:
    """Readers give arrays as lists; the text is the same."""
    event = one(failure_reason="€" * 2000)
    attributes = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in encode_event(event).items()
    }
    assert decode([attributes]) == (FailureReport(events={"e1": event}), ())


SURROGATES = st.text(st.characters(codec=None), max_size=12)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | SURROGATES | st.binary(max_size=4)
)
NAMES = st.sampled_from(["e0", "e1", "i" * 129, "x\ud800y"])
JUNK = st.recursive(
    SCALARS | NAMES | st.just(["e1", "i" * 129]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SURROGATES, inner, max_size=2),
    max_leaves=6,
)
SPAN_KEYS = [
    P + name
    for name in (
        "schema_version",
        "report.id",
        "report.ids",
        "report.omitted",
        "report.count",
        "report.kinds",
    )
]
KEYS = sorted(
    {
        *FULL_KEYS,
        P + "details",
        P + "text_bytes",
        P + "model.request_upload_complete",
        P + "sandbox.",
    }
)


@pytest.mark.slow
@settings(LAX, max_examples=400)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [FULL, one(), one(event_id="e0", cause_id="e1"), one(boundary="model", details={})]
            ),
            st.dictionaries(
                st.sampled_from([*KEYS, *(key + "_rest" for key in KEYS)]) | SURROGATES,
                JUNK,
                max_size=6,
            ),
            st.sets(st.sampled_from(KEYS), max_size=6),
        ),
        max_size=4,
    ),
    st.dictionaries(
        st.sampled_from([*SPAN_KEYS, *(key + "_rest" for key in SPAN_KEYS)]), JUNK, max_size=6
    ),
)
def test_decode_never_raises(
    damaged: list[tuple[FailureEvent, dict[str, Any], set[str]]], span_attributes: dict[str, Any]
) -> None:
    """Whatever the attributes hold, decode returns a valid report and losses of known kinds."""
    encoded = [
        {key: value for key, value in {**encode_event(event), **junk}.items() if key not in gone}
        for event, junk, gone in damaged
    ]
    report, losses = decode(encoded, span_attributes)
    assert FailureReport.model_validate(report.model_dump()) == report
    assert {loss.kind for loss in losses} <= set(MEANING)
    assert all(isinstance(loss.detail, str) for loss in losses)


@pytest.mark.parametrize(
    "name", ["id", "kind", "reason", "cause.id", "sandbox.provider", "foreign.message", "stage"]
)
def test_a_lone_surrogate_in_a_file_is_read(name: str) -> None:
    r"""JSON can hold a lone surrogate: it is escaped (as `\ud800`) and the event is kept."""
    report, _ = decode([{**encode_event(FULL), P + name: "x\ud800y"}])
    assert len(report.events) == 1
    assert FailureReport.model_validate_json(report.model_dump_json()) == report


@pytest.mark.parametrize("key", ["i" * 129, "x\ud800y"], ids=["too-long", "surrogate"])
def test_an_own_id_that_no_report_can_name_is_a_loss(key: str) -> None:
    """A hop whose own failure has an id that no report can name is read with a loss."""
    attributes = {**encode_event(one()), P + "id": key}
    report, losses = decode(
        [attributes], {P + "schema_version": 1, P + "report.ids": (key,), P + "report.id": key}
    )
    assert FailureReport.model_validate(report.model_dump()) == report
    assert len(report.events) == 1
    assert report.failure_id is not None or losses


@pytest.mark.parametrize(
    "wrong", [None, 1.5, {"a": 1}, ["a"]], ids=["null", "float", "object", "array"]
)
@pytest.mark.parametrize(
    "key",
    sorted(
        set(FULL_KEYS)
        - {"error.type", *(P + n for n in ("cause.trace_id", "cause.span_id", "remote", "late"))}
    ),
)
def test_one_value_of_a_wrong_type_is_named(key: str, wrong: object) -> None:
    """An attribute that arrives as another type is always named by some loss."""
    assert decode_event({**encode_event(FULL), key: wrong}).losses


def test_encode_and_decode_leave_their_arguments_alone() -> None:
    """The codec is pure: equal input gives equal output, and the input is not changed."""
    attributes = encode_event(FULL)
    before = dict(attributes)
    assert decode([attributes]) == decode([attributes])
    assert attributes == before
    assert encode_event(FULL) == before
