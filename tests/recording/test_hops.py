"""A hop's report: which failures it holds, which one is its own, and what stands on its span."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry.trace import Status, StatusCode

import failgraph
from builders import failure
from failgraph import FailureReport, NgFailureEvent, semconv
from failgraph.codec import decode
from failgraph.recording import hop_log, index
from sdk_spans import failure_events


def rebuilt(*spans) -> FailureReport:
    """The report of the hop on the first of `spans`, rebuilt from what stands on all of them."""
    return decode(failure_events(spans), spans[0].attributes)[0]


def test_a_hop_writes_the_report_that_its_code_saw(tracer):
    """The report rebuilt from the span equals `current_report()` inside the hop."""
    with tracer.start_as_current_span("work") as span, failgraph.hop():
        cause, effect = failure("a_cause"), failure("an_effect")
        effect.__cause__ = cause
        failgraph.record(failure("recovered_one"))
        failgraph.record(effect, own=True)
        seen = failgraph.current_report()
    assert rebuilt(span) == seen
    assert seen.failure_id == effect.event_id
    assert span.attributes[semconv.REPORT_SCHEMA_VERSION] == 1
    assert span.attributes[semconv.REPORT_ID] == effect.event_id
    assert set(span.attributes[semconv.REPORT_IDS]) == set(seen.events)
    assert span.attributes[semconv.REPORT_COUNT] == 3
    assert span.attributes[semconv.REPORT_ROOT_ID] == cause.event_id
    assert span.attributes[semconv.REPORT_ROOT_KIND] == "a_cause"
    assert span.attributes[semconv.REPORT_ROOT_SPAN_ID] == f"{span.get_span_context().span_id:016x}"
    assert span.attributes[semconv.REPORT_KINDS] == ("a_cause", "an_effect", "recovered_one")
    assert span.attributes[semconv.REPORT_BOUNDARIES] == ("agent",)
    assert semconv.REPORT_OMITTED not in span.attributes


def test_a_hop_without_failures_writes_nothing(tracer):
    """A hop without failures gets no attribute, status or event; outside, reports are empty."""
    with tracer.start_as_current_span("work") as span, failgraph.hop():
        assert failgraph.current_report() == FailureReport()
    assert not span.attributes
    assert span.status.status_code is StatusCode.UNSET
    assert failgraph.current_report() == FailureReport()


def test_an_escaping_failure_is_the_own_one_and_marks_the_status(tracer):
    """What leaves the block is recorded as own failure and sets ERROR with its kind."""
    span = tracer.start_span("work")
    error = failure("an_escape")
    with pytest.raises(NgFailureEvent) as caught, failgraph.hop(span):
        raise error
    assert caught.value is error
    assert rebuilt(span).failure_id == error.event_id
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "an_escape")


def test_the_outermost_failure_of_the_explicit_chain_is_the_own_one(tracer):
    """A foreign exception that leaves the block counts by the failure that it was raised from."""
    span = tracer.start_span("work")
    with pytest.raises(ValueError, match="foreign"), failgraph.hop(span):
        inner = failure("inner")
        outer = failure("outer")
        outer.__cause__ = inner
        raise ValueError("foreign") from outer
    assert rebuilt(span).failure_id == outer.event_id
    assert set(rebuilt(span).events) == {inner.event_id, outer.event_id}


def test_a_failure_in_a_group_behind_a_member_of_a_group_is_the_own_one(tracer):
    """Groups that leave the block are opened at any depth of the explicit chain."""
    span, deep = tracer.start_span("work"), failure("deep")
    with pytest.raises(Group), failgraph.hop(span):
        member = ValueError("member")
        member.__cause__ = Group(deep)
        raise Group(member)
    assert rebuilt(span).failure_id == deep.event_id
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "deep")


def test_implicit_context_is_no_cause(tracer):
    """An exception that is only being handled is no cause of another, and does not escape."""
    span = tracer.start_span("work")
    with pytest.raises(ValueError, match="foreign"), failgraph.hop(span):
        try:
            raise failure()
        except NgFailureEvent:
            raise ValueError("foreign")  # noqa: B904
    assert not span.attributes
    assert span.status.status_code is StatusCode.UNSET


def test_a_foreign_exception_that_was_recorded_is_own_when_it_escapes(tracer):
    """Recorded with a boundary and a kind it is a failure like any other."""
    span = tracer.start_span("work")
    with pytest.raises(ValueError, match="bad"), failgraph.hop(span):
        error = ValueError("bad")
        recorded = failgraph.record(error, boundary="agent", kind="x_y")
        raise error
    assert rebuilt(span).failure_id == recorded.event_id


def test_a_foreign_exception_that_nobody_recorded_is_no_failure(tracer, setting):
    """By default only failures are captured, whatever the boundary and the type are."""
    setting("BOUNDARY", "agent")
    span = tracer.start_span("work")
    with pytest.raises(TimeoutError), failgraph.hop(span):
        raise TimeoutError
    assert not span.attributes
    assert failgraph.stats() == {}


def test_escaping_wins_over_own_and_the_last_own_over_the_first(tracer):
    """Own is what escaped, else the last `record(..., own=True)`, else none."""
    first, second, escaping = failure("a_first"), failure("a_second"), failure("an_escape")
    with tracer.start_as_current_span("handled") as handled, failgraph.hop():
        failgraph.record(first, own=True)
        failgraph.record(second, own=True)
        failgraph.record(failure("other"))
    assert rebuilt(handled).failure_id == second.event_id
    span = tracer.start_span("escaped")
    with pytest.raises(NgFailureEvent), failgraph.hop(span):
        failgraph.record(first, own=True)
        raise escaping
    assert rebuilt(span).failure_id == escaping.event_id


def test_a_cancellation_is_no_failure_unless_one_is_in_its_chain(tracer):
    """A cancelled task leaves no own failure; one that is cancelled because of a failure does."""
    plain, caused = tracer.start_span("plain"), tracer.start_span("caused")
    with pytest.raises(asyncio.CancelledError), failgraph.hop(plain):
        raise asyncio.CancelledError
    error = failure()
    with pytest.raises(asyncio.CancelledError), failgraph.hop(caused):
        raise asyncio.CancelledError from error
    assert not plain.attributes
    assert rebuilt(caused).failure_id == error.event_id


class Group(Exception):
    """Has members as an exception group does; Python 3.10 has none of its own."""

    def __init__(self, *members: BaseException) -> None:
        super().__init__("group")
        self.exceptions = members


def test_of_an_escaping_group_the_first_failure_is_the_own_one(tracer):
    """A group has no id: its members are recorded, and its first failure is the own one."""
    first, second = failure("a_first"), failure("a_second")
    span = tracer.start_span("work")
    with pytest.raises(Group), failgraph.hop(span):
        raise Group(ValueError("foreign"), first, second)
    assert rebuilt(span).failure_id == first.event_id
    assert set(rebuilt(span).events) == {first.event_id, second.event_id}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Status(StatusCode.UNSET), (StatusCode.ERROR, "an_escape")),
        (Status(StatusCode.ERROR), (StatusCode.ERROR, "an_escape")),
        (Status(StatusCode.ERROR, "theirs"), (StatusCode.ERROR, "theirs")),
        (Status(StatusCode.OK), (StatusCode.OK, None)),
    ],
)
def test_a_status_that_somebody_set_is_left_alone(tracer, before, after):
    """ERROR with the kind only where the status is unset, or an ERROR without a description."""
    span = tracer.start_span("work")
    with pytest.raises(NgFailureEvent), failgraph.hop(span):
        span.set_status(before)
        raise failure("an_escape")
    assert (span.status.status_code, span.status.description) == after


def test_a_recovered_failure_changes_no_status(tracer):
    """Neither does an own failure that did not escape."""
    with tracer.start_as_current_span("work") as span, failgraph.hop():
        failgraph.record(failure())
        failgraph.record(failure(), own=True)
    assert span.status.status_code is StatusCode.UNSET


def test_only_the_hops_span_gets_the_status(tracer):
    """A failure on an inner span leaves that span's status to its owner."""
    with (
        tracer.start_as_current_span("work") as outer,
        pytest.raises(NgFailureEvent),
        failgraph.hop(),
    ):
        with tracer.start_as_current_span("inner", set_status_on_exception=False) as inner:
            raise failure()
    assert inner.status.status_code is StatusCode.UNSET
    assert outer.status.status_code is StatusCode.ERROR


def test_hops_nest(tracer):
    """An outer hop has what an inner one saw; the inner own failure is not the outer one's."""
    with tracer.start_as_current_span("outer") as outer, failgraph.hop():
        failgraph.record(failure("before"))
        with tracer.start_as_current_span("inner") as inner, failgraph.hop():
            failgraph.record(failure("inside"), own=True)
            assert [event.failure_kind for event in failgraph.current_report().events.values()] == [
                "inside"
            ]
        kinds = [event.failure_kind for event in failgraph.current_report().events.values()]
    assert kinds == ["before", "inside"]
    assert rebuilt(inner).failure_id is not None
    assert rebuilt(outer, inner).failure_id is None
    assert set(rebuilt(outer, inner).events) == set(outer.attributes[semconv.REPORT_IDS])


def test_two_hops_on_one_span_are_one_report(tracer):
    """Of nested hops on one span the outermost writes; consecutive ones add to each other."""
    with tracer.start_as_current_span("nested") as nested, failgraph.hop():
        with failgraph.hop():
            failgraph.record(failure("handled_inside"), own=True)
    assert semconv.REPORT_ID not in nested.attributes
    assert len(nested.attributes[semconv.REPORT_IDS]) == 1
    with tracer.start_as_current_span("twice") as twice:
        for kind in ("a_first", "a_second"):
            with failgraph.hop():
                failgraph.record(failure(kind))
    assert twice.attributes[semconv.REPORT_KINDS] == ("a_first", "a_second")
    assert twice.attributes[semconv.REPORT_COUNT] == 2


def test_recorded_after_the_report_it_is_late(tracer):
    """What happens in a hop's context after its end is marked, and not in its report."""
    with tracer.start_as_current_span("work") as span:
        with failgraph.hop():
            failgraph.record(failure("in_time"))
            context = contextvars.copy_context()
        context.run(lambda: failgraph.record(failure("too_late")))
    late = {
        event.attributes[semconv.KIND]: event.attributes.get(semconv.LATE) for event in span.events
    }
    assert late == {"in_time": None, "too_late": True}
    assert span.attributes[semconv.REPORT_KINDS] == ("in_time",)


def test_a_failure_of_an_ended_hop_that_the_outer_one_handles_is_the_outer_ones(tracer, exporter):
    """Created in an ended inner hop, recorded in the outer one: late there, reported here."""
    with tracer.start_as_current_span("outer") as outer, failgraph.hop():
        with tracer.start_as_current_span("inner") as inner, failgraph.hop():
            error = failure()
        failgraph.record(error)
    assert outer.attributes[semconv.REPORT_IDS] == (error.event_id,)
    assert not inner.attributes
    (span,) = [each for each in exporter.get_finished_spans() if each.name == semconv.EVENT_NAME]
    assert span.events[0].attributes[semconv.LATE] is True


def test_a_failure_made_outside_and_raised_inside_is_in_both_reports(tracer):
    """An inner hop that a failure of the outer one escapes has it as its own."""
    with tracer.start_as_current_span("outer") as outer, failgraph.hop():
        error = failure()
        with tracer.start_as_current_span("inner", set_status_on_exception=False) as inner:
            with pytest.raises(NgFailureEvent), failgraph.hop():
                raise error
    assert inner.attributes[semconv.REPORT_ID] == error.event_id
    assert outer.attributes[semconv.REPORT_IDS] == (error.event_id,)
    assert semconv.REPORT_ID not in outer.attributes


def test_asyncio_tasks_keep_their_hops_apart(tracer):
    """Each task has the hop that it opened, however they interleave."""

    async def task(kind: str, gate: asyncio.Event) -> list[str]:
        with tracer.start_as_current_span(kind), failgraph.hop():
            failgraph.record(failure(kind))
            await gate.wait()
            failgraph.record(failure(f"{kind}_again"))
            return [event.failure_kind for event in failgraph.current_report().events.values()]

    async def main() -> list[list[str]]:
        gate = asyncio.Event()
        tasks = [asyncio.create_task(task(kind, gate)) for kind in ("one", "two", "three")]
        await asyncio.sleep(0)
        gate.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == [[kind, f"{kind}_again"] for kind in ("one", "two", "three")]


def test_a_thread_that_is_given_the_context_shares_the_hop(tracer):
    """A copied context carries the hop; a thread without it has none."""
    with tracer.start_as_current_span("work") as span, failgraph.hop():
        context = contextvars.copy_context()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(context.run, failgraph.record, failure("given")).result()
            assert pool.submit(failgraph.current_report).result() == FailureReport()
    assert span.attributes[semconv.REPORT_KINDS] == ("given",)


def test_many_threads_on_one_hop_lose_nothing(tracer):
    """Eight threads record into one hop at once: each failure is in the report and counted once."""
    with tracer.start_as_current_span("work") as span, failgraph.hop():
        contexts = [contextvars.copy_context() for _ in range(8)]

        def work(context: contextvars.Context) -> None:
            for _ in range(25):
                context.run(failgraph.record, failure())

        threads = [threading.Thread(target=work, args=(context,)) for context in contexts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (
        len(set(span.attributes[semconv.REPORT_IDS]))
        == span.attributes[semconv.REPORT_COUNT]
        == 200
    )


def test_a_generator_that_is_closed_elsewhere_harms_nobody(tracer):
    """A hop that is left in another context is closed, and that context stays as it was."""

    def work():
        with failgraph.hop(tracer.start_span("work")):
            failgraph.record(failure())
            yield

    opened = work()
    contextvars.copy_context().run(next, opened)
    with tracer.start_as_current_span("other"), failgraph.hop():
        opened.close()
        failgraph.record(failure("still_here"))
        assert [event.failure_kind for event in failgraph.current_report().events.values()] == [
            "still_here"
        ]


def test_a_script_without_a_span_has_a_report_too():
    """`hop()` needs no span: the report is there, nothing is written."""
    with failgraph.hop():
        recorded = failgraph.record(failure(), own=True)
        assert recorded.placement == "nowhere"
        assert failgraph.current_report().failure_id == recorded.event_id


def test_a_report_holds_256_the_own_chain_first_then_the_newest(tracer):
    """More than 256 set `omitted`; the span lists the whole log, and counts all that were seen."""
    with tracer.start_as_current_span("work") as span, failgraph.hop():
        root = failure("a_root")
        failgraph.record(root)
        others = [failure() for _ in range(300)]
        for other in others:
            failgraph.record(other)
        own = failure("an_own")
        own.__cause__ = root
        failgraph.record(own, own=True)
        report = failgraph.current_report()
    assert len(report.events) == hop_log.MAX_REPORTED
    assert report.omitted
    assert {root.event_id, own.event_id, others[-1].event_id} <= set(report.events)
    assert others[0].event_id not in report.events
    assert len(span.attributes[semconv.REPORT_IDS]) == span.attributes[semconv.REPORT_COUNT] == 302


def test_a_log_keeps_1024_and_lets_the_oldest_go_that_caused_nothing_kept(tracer):
    """A root cause outlasts any number of later failures that nobody was caused by."""
    with tracer.start_as_current_span("work") as span, failgraph.hop():
        root, effect = failure("a_root"), failure("an_effect")
        effect.__cause__ = root
        failgraph.record(effect, own=True)
        for _ in range(hop_log.MAX_LOGGED + 10):
            failgraph.record(failure())
    ids = span.attributes[semconv.REPORT_IDS]
    assert len(ids) == hop_log.MAX_LOGGED
    assert ids[:2] == (root.event_id, effect.event_id)
    assert span.attributes[semconv.REPORT_OMITTED] is True
    assert span.attributes[semconv.REPORT_COUNT] == hop_log.MAX_LOGGED + 12


def test_of_a_chain_longer_than_the_log_the_end_is_kept(tracer):
    """If every failure caused a kept one, the oldest is dropped and `omitted` is set."""
    events, cause_id = [], None
    for number in range(hop_log.MAX_LOGGED + 5):
        event = failgraph.FailureEvent(
            event_id=str(number), failure_kind="a_link", boundary="agent", cause_id=cause_id
        )
        cause_id = event.event_id
        events.append(event)
    with failgraph.hop(span := tracer.start_span("work")):
        for event in events:
            failgraph.record(event, own=True)
    assert span.attributes[semconv.REPORT_IDS] == tuple(event.event_id for event in events[5:])
    assert span.attributes[semconv.REPORT_OMITTED] is True


def linked(span) -> list[tuple[int, int]]:
    return [(link.context.trace_id, link.context.span_id) for link in span.links]


def recorded_effect(tracer, cause: NgFailureEvent, name: str = "effect"):
    with tracer.start_as_current_span(name) as span:
        effect = failure("an_effect")
        effect.__cause__ = cause
        failgraph.record(effect)
    return span


def test_only_a_cause_in_another_trace_is_linked(tracer):
    """A link inside a trace would make Jaeger's page blank if a parent is lost."""
    with tracer.start_as_current_span("cause") as cause_span:
        cause = failure("a_cause")
        failgraph.record(cause)
    elsewhere = recorded_effect(tracer, cause)
    with tracer.start_as_current_span("root"):
        with tracer.start_as_current_span("cause"):
            sibling = failure("a_cause")
            failgraph.record(sibling)
        inside = recorded_effect(tracer, sibling)
    context = cause_span.get_span_context()
    assert linked(elsewhere) == [(context.trace_id, context.span_id)]
    assert elsewhere.links[0].attributes == {semconv.CAUSE_ID: cause.event_id}
    assert not inside.links


def test_a_link_never_goes_twice_to_one_target(tracer):
    """Two failures of one span that have their causes on one other span share its link."""
    with tracer.start_as_current_span("causes") as there:
        causes = [failure("one"), failure("two")]
        for cause in causes:
            failgraph.record(cause)
    with tracer.start_as_current_span("twice") as twice:
        for cause in causes:
            effect = failure("an_effect")
            effect.__cause__ = cause
            failgraph.record(effect)
    assert linked(twice) == [(there.get_span_context().trace_id, there.get_span_context().span_id)]


def test_at_most_sixteen_links_a_span(tracer):
    """More causes in other traces than that are named by their attributes alone."""
    causes = []
    for _ in range(index.MAX_LINKS_A_SPAN + 4):
        with tracer.start_as_current_span("cause"):
            causes.append(failure("a_cause"))
            failgraph.record(causes[-1])
    with tracer.start_as_current_span("effect") as span:
        for cause in causes:
            effect = failure("an_effect")
            effect.__cause__ = cause
            failgraph.record(effect)
    assert len(span.links) == index.MAX_LINKS_A_SPAN
    assert all(semconv.CAUSE_SPAN_ID in event.attributes for event in span.events)


def test_a_failure_span_links_to_its_cause_inside_the_trace_but_not_to_its_parent(
    tracer, exporter, setting
):
    """A failure span may link inside its trace, but not to its parent."""
    setting("EVENTS", "failure_span")
    with tracer.start_as_current_span("work"):
        cause = failure("a_cause")
        failgraph.record(cause)
        recorded_effect(tracer, cause)
    spans = exporter.get_finished_spans()
    by_kind = {span.events[0].attributes[semconv.KIND]: span for span in spans if span.events}
    target = by_kind["a_cause"].get_span_context()
    assert linked(by_kind["an_effect"]) == [(target.trace_id, target.span_id)]
    assert linked(by_kind["a_cause"]) == []


@pytest.mark.parametrize("all_of_them", [True, False])
def test_what_escapes_a_hop_under_capture(tracer, exporter, setting, all_of_them):
    """With `FAILGRAPH_CAPTURE=all` any exception is the own failure; its type gives the kind."""
    if all_of_them:
        setting("CAPTURE", "all")
    setting("BOUNDARY", "agent")
    with (
        pytest.raises(ConnectionRefusedError),
        tracer.start_as_current_span("span"),
        failgraph.hop(),
    ):
        raise ConnectionRefusedError("nobody there")
    (span,) = exporter.get_finished_spans()
    kinds = [event["nemo.gym.failure.kind"] for event in failure_events([span])]
    assert kinds == (["transport_unreachable"] if all_of_them else [])
    assert ("nemo.gym.failure.report.id" in span.attributes) is all_of_them


@pytest.mark.parametrize(
    ("leaves", "unfinished"),
    [
        (None, False),
        (asyncio.CancelledError(), True),
        (KeyboardInterrupt(), True),
        (ValueError("no failure"), True),
        (failure("its_own", boundary="agent"), False),
    ],
    ids=["success", "cancelled", "interrupted", "no failure", "its own failure"],
)
def test_a_hop_without_a_result_says_so(tracer, leaves, unfinished):
    """Cancelled, interrupted or left by a foreign exception: it is unknown what was recovered."""
    with (
        contextlib.suppress(BaseException),
        tracer.start_as_current_span("work") as span,
        failgraph.hop(),
    ):
        failgraph.record(failure("met_before"))
        if leaves is not None:
            raise leaves
    assert span.attributes.get(semconv.REPORT_UNFINISHED, False) is unfinished


def test_a_failure_span_names_its_rollout(make_provider, exporter, setting):
    """Spans around it may never arrive; what is exported at once is still found by rollout id."""
    setting("EVENTS", "failure_span")
    tracer = make_provider().get_tracer("test")
    with (
        tracer.start_as_current_span("rollout", attributes={semconv.ROLLOUT_ID: "r1"}),
        failgraph.hop(),
    ):
        with tracer.start_as_current_span("call"):
            failgraph.record(failure())
        (span,) = [
            each
            for each in exporter.get_finished_spans()
            if each.attributes.get(semconv.FAILURE_SPAN)
        ]
    assert span.attributes[semconv.ROLLOUT_ID] == "r1"
