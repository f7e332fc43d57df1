"""Copies of one span, and the properties of a span."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import event
from failgraph.traces.spans import EventRecord, SpanRecord
from otlp_file import PREFIX, SECOND, T0, process, reported, seen, span
from trace_reading import failing_span, loss_kinds, read_documents, read_trace


def test_the_same_span_twice_is_one_span(tmp_path: Path) -> None:
    """A repeated span is no duplicate; a copy with an end wins over one without."""
    trace = read_trace(
        tmp_path,
        process(failing_span(end=None)),
        process(failing_span()),
        process(failing_span(end=None)),
        process(failing_span()),
    )
    assert list(trace.report.events) == ["e1"]
    assert trace.losses == ()
    assert trace.duration_nano == SECOND


def test_copies_of_a_span_are_merged(tmp_path):
    """Events and attributes of both are kept, and the end of the one that has ended."""
    early = span(1, None, seen(event("a"), 1), seen(event("b"), 2), end=None)
    late = span(
        1, None, seen(event("b"), 2), seen(event("c"), 3), attributes=reported("a", "b", "c")
    )
    for order in ((early, late), (late, early)):
        trace = read_trace(tmp_path, process(*order))
        assert list(trace.report.events) == ["a", "b", "c"]
        assert trace.duration_nano == SECOND
        assert trace.losses == ()


def test_two_different_spans_with_one_id_are_a_loss(tmp_path):
    """If name or process differ they are no copies; the failures of both are kept."""
    reading = read_documents(
        tmp_path,
        process(span(1, None, seen(event("a")))),
        process(span(1, None, seen(event("b")), name="other")),
    )
    assert set(reading.traces[0].report.events) == {"a", "b"}
    assert loss_kinds(reading.losses) == ["duplicate"]


def record(**fields):
    """Return a span record with these fields."""
    values = {
        "trace_id": "a" * 32,
        "span_id": "b" * 16,
        "parent_span_id": None,
        "name": "run",
        "kind": "INTERNAL",
        "start_unix_nano": T0,
        "end_unix_nano": T0 + 5,
        "service": "gym",
        "process": 1,
        "attributes": {},
        "events": (),
        "dropped": 0,
        "status": "",
    }
    return SpanRecord(**{**values, **fields})


STAND_IN = {PREFIX + "journal": True}


@pytest.mark.parametrize(
    ("fields", "duration"),
    [
        ({}, 5),
        ({"end_unix_nano": T0}, 0),
        ({"end_unix_nano": 0}, None),
        ({"start_unix_nano": 0}, None),
        ({"end_unix_nano": T0 - 1}, None),
        ({"attributes": {PREFIX + "row": True}}, None),
        ({"attributes": STAND_IN}, None),
    ],
)
def test_a_duration_needs_a_start_and_a_later_end(fields, duration):
    """Saved rows and journals have no durations."""
    assert record(**fields).duration_nano == duration


@pytest.mark.parametrize(
    ("fields", "conflicts"),
    [
        ({}, False),
        ({"end_unix_nano": 0, "kind": "SERVER", "dropped": 3}, False),
        ({"name": "other"}, True),
        ({"parent_span_id": "c" * 16}, True),
        ({"service": "other"}, True),
        ({"process": 2}, False),  # the same resource in another format
        ({"name": "other", "attributes": STAND_IN}, False),
    ],
)
def test_copies_conflict_if_name_parent_or_service_differ(fields, conflicts):
    """A span from a journal never conflicts: it knows less."""
    assert record().conflicts(record(**fields)) is conflicts
    assert record(**fields).conflicts(record()) is conflicts


def test_a_stand_in_gives_way_to_the_real_span():
    """In whichever order they come."""
    real, stand_in = record(dropped=2), record(attributes=STAND_IN)
    assert real.merged(stand_in) is real
    assert stand_in.merged(real) is real


def test_a_stand_in_is_in_the_process_of_its_service():
    """A journal does not know the whole resource."""
    real = record(process=1)
    assert real.is_same_process(record(process=1, service="other"))
    assert not real.is_same_process(record(process=2))
    assert real.is_same_process(record(process=2, attributes=STAND_IN))
    assert not real.is_same_process(record(process=2, attributes=STAND_IN, service="other"))


def test_only_events_that_name_a_cause_elsewhere_outlive_decoding():
    """The others say no more than the failures made of them."""
    plain = EventRecord(T0, {PREFIX + "id": "a"})
    linked = EventRecord(T0, {PREFIX + "id": "b", PREFIX + "cause.trace_id": "c" * 32})
    assert record(events=(plain, linked)).without_decoded_events().events == (linked,)
    without = record()
    assert without.without_decoded_events() is without
