"""Providers with narrow limits: nothing of the program is evicted, and our ids stay."""

from __future__ import annotations

import itertools
import logging

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits

import failgraph
from builders import failure
from failgraph import semconv
from failgraph.codec import decode
from failgraph.codec.event_decoder import decode_event
from failgraph.recording import index
from sdk_spans import failure_events

TIGHT = {"max_events": 4, "max_attributes": 8, "max_event_attributes": 8, "max_span_attributes": 8}
MANY_FIELDS = {
    "boundary": "model",
    "failure_reason": "a reason",
    "operation": "generate",
    "details": {"provider_request_id": "r"},
}


@pytest.fixture(autouse=True)
def no_warning_of_the_sdk(caplog):
    """The SDK warns of each attribute that it evicts or cuts; failgraph must not cause that."""
    with caplog.at_level(logging.WARNING):
        yield
    assert [
        record.message for record in caplog.records if record.name.startswith("opentelemetry")
    ] == []


def test_events_beyond_the_limit_go_on_failure_spans(make_provider, exporter):
    """With 4 events a span, a chain of 10 is complete, and so are the program's own events."""
    tracer = make_provider(**TIGHT).get_tracer("test")
    with tracer.start_as_current_span("work") as span, failgraph.hop():
        span.add_event("theirs")
        chain = [failure(f"link_{number}") for number in range(10)]
        for cause, effect in itertools.pairwise(chain):
            effect.__cause__ = cause
        failgraph.record(chain[-1], own=True)
    spans = exporter.get_finished_spans()
    assert {event[semconv.ID] for event in failure_events(spans)} == {
        each.event_id for each in chain
    }
    assert [event.name for event in span.events].count("theirs") == 1
    assert all(each.dropped_events == 0 for each in spans)
    report, _ = decode(failure_events(spans), span.attributes)
    assert report.failure_id == chain[-1].event_id
    assert span.attributes[semconv.REPORT_ROOT_ID] == chain[0].event_id


def test_no_event_of_the_users_is_evicted(make_provider, exporter):
    """On a span whose events are at the limit, a failure goes on a failure span at once."""
    with make_provider(**TIGHT).get_tracer("test").start_as_current_span("work") as span:
        for number in range(4):
            span.add_event(f"theirs {number}")
        assert failgraph.record(failure()).placement == "failure_span"
    assert [event.name for event in span.events] == [f"theirs {number}" for number in range(4)]


@pytest.mark.parametrize("theirs", range(9))
def test_no_attribute_of_the_users_is_evicted(make_provider, theirs):
    """A report takes only free places; ids come first, and a missing list is marked."""
    tracer = make_provider(**TIGHT).get_tracer("test")
    attributes = {f"theirs.{number}": number for number in range(theirs)}
    with tracer.start_as_current_span("work", attributes=attributes) as span, failgraph.hop():
        failgraph.record(failure(), own=True)
    assert attributes.items() <= dict(span.attributes).items()
    assert span.dropped_attributes == 0
    report, _ = decode(failure_events([span]), span.attributes)
    free = 8 - theirs
    assert (semconv.REPORT_SCHEMA_VERSION in span.attributes) == (free >= 1)
    assert (report.failure_id is not None) == (free >= 2)
    assert report.omitted == (1 <= free < 3)


def test_with_8_attributes_an_event_keeps_what_identifies_it(make_provider):
    """Optional attributes are dropped first; identity stays, and the loss is named."""
    tracer = make_provider(**TIGHT).get_tracer("test")
    with tracer.start_as_current_span("work") as span:
        cause, effect = (
            failure("a_cause"),
            failure("an_effect", http_status=500, **MANY_FIELDS),
        )
        effect.__cause__ = cause
        failgraph.record(effect)
    event = failure_events([span])[1]
    assert len(event) <= 8
    assert span.events[1].dropped_attributes == 0
    decoded = decode_event(event)
    assert decoded.event_id == effect.event_id
    assert (decoded.event.failure_kind, decoded.event.cause_id) == ("an_effect", cause.event_id)
    assert event[semconv.ERROR_TYPE] == "an_effect"
    assert {loss.kind for loss in decoded.losses} == {"attribute_missing"}


def test_with_a_value_limit_of_20_nothing_is_cut(make_provider):
    """Text and ids over the provider's limit continue in arrays; the record is read back whole."""
    tracer = make_provider(max_attribute_length=20, max_span_attribute_length=20).get_tracer("test")
    with tracer.start_as_current_span("work") as span, failgraph.hop():
        cause, effect = failure("a_cause_with_a_long_kind"), failure(failure_reason="日" * 300)
        effect.__cause__ = cause
        failgraph.record(effect, own=True)
        expected = failgraph.current_report()
    events = failure_events([span])
    assert decode(events) == (expected.model_copy(update={"failure_id": None}), ())
    assert events[0][semconv.ERROR_TYPE] == "_OTHER"
    assert semconv.CAUSE_TRACE_ID not in events[1]
    report, _ = decode(events, span.attributes)
    assert report.failure_id == effect.event_id
    assert semconv.REPORT_IDS not in span.attributes
    assert semconv.REPORT_ROOT_SPAN_ID not in span.attributes
    assert span.attributes[semconv.REPORT_OMITTED] is True


def test_all_limits_at_once(make_provider, exporter):
    """With 4 events, 8 attributes and values of 20, id, kind, boundary and cause are kept."""
    tracer = make_provider(
        **TIGHT, max_attribute_length=20, max_span_attribute_length=20
    ).get_tracer("test")
    with tracer.start_as_current_span("work"), failgraph.hop():
        chain = [failure(**MANY_FIELDS) for _ in range(8)]
        for cause, effect in itertools.pairwise(chain):
            effect.__cause__ = cause
        failgraph.record(chain[-1], own=True)
    report, losses = decode(failure_events(exporter.get_finished_spans()))
    assert {key: event.cause_id for key, event in report.events.items()} == {
        effect.event_id: cause.event_id if cause else None
        for cause, effect in zip([None, *chain], chain, strict=False)
    }
    assert {event.failure_kind for event in report.events.values()} == {"judge_failed"}
    assert {loss.kind for loss in losses} == {"attribute_missing"}


def test_a_provider_that_allows_no_events_gets_none(make_provider, exporter):
    """If not even a failure span can hold an event, `record` returns `nowhere`."""
    with make_provider(max_events=0).get_tracer("test").start_as_current_span("work"):
        assert failgraph.record(failure()).placement == "nowhere"


def test_our_own_cap_leaves_room_for_the_user(make_provider, exporter):
    """Of the SDK's default of 128 events, failgraph uses 64, then failure spans."""
    with make_provider().get_tracer("test").start_as_current_span("work") as span:
        placements = [
            failgraph.record(failure()).placement for _ in range(index.MAX_EVENTS_A_SPAN + 2)
        ]
    assert placements == ["span"] * index.MAX_EVENTS_A_SPAN + ["failure_span"] * 2
    assert len(span.events) == index.MAX_EVENTS_A_SPAN


def test_no_link_of_the_users_is_evicted(make_provider):
    """On a span without room for links, a cause in another trace is named by attributes only."""
    tracer = make_provider(max_links=1).get_tracer("test")
    with tracer.start_as_current_span("cause") as cause_span:
        cause = failure("a_cause")
        failgraph.record(cause)
    theirs = trace.Link(tracer.start_span("theirs").get_span_context())
    with tracer.start_as_current_span("effect", links=[theirs]) as span:
        effect = failure("an_effect")
        effect.__cause__ = cause
        failgraph.record(effect)
    assert [link.context for link in span.links] == [theirs.context]
    assert (
        failure_events([span])[0][semconv.CAUSE_SPAN_ID]
        == f"{cause_span.get_span_context().span_id:016x}"
    )


def test_what_later_events_push_out_is_named_by_the_reader(make_provider):
    """Missing events that the hop listed are `event_missing`, and the report is `omitted`."""
    with (
        make_provider(max_events=4).get_tracer("test").start_as_current_span("work") as span,
        failgraph.hop(),
    ):
        error = failure()
        failgraph.record(error, own=True)
        for number in range(4):
            span.add_event(f"theirs {number}")
    report, losses = decode(failure_events([span]), span.attributes)
    assert (report.events, report.omitted) == ({}, True)
    assert [(loss.kind, loss.detail) for loss in losses] == [("event_missing", error.event_id)]


def test_limits_that_cannot_be_hashed_lose_no_failure(tracer, exporter):
    """A span class whose limits compare by value, and so have no hash, still gets its failures."""

    class ByValue(SpanLimits):
        def __eq__(self, other: object) -> bool:
            return isinstance(other, SpanLimits) and vars(self) == vars(other)

    with tracer.start_as_current_span("work") as span:
        span._limits = ByValue()
        recorded = failgraph.record(failure())
    assert recorded.placement == "span"
    assert [event[semconv.ID] for event in failure_events(exporter.get_finished_spans())] == [
        recorded.event_id
    ]
