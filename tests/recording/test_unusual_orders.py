"""Hops, spans and tasks that end out of order, and things that break meanwhile."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import logging
import os
import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

import failgraph
from builders import event, failure, remote_span
from failgraph import FailureEvent, NgFailureEvent, diagnostics, semconv, settings
from failgraph.context import current_hop
from failgraph.recording import hop_log, index, recorder as recorder_module, sdk_spans
from failgraph.recording.api import watching
from failgraph.recording.flushing import flush_within
from failgraph.recording.recorder import recorder
from sdk_spans import failure_events


@pytest.mark.parametrize("escapes", [True, False])
def test_a_failure_made_in_another_open_hop_is_the_own_one_of_the_hop_that_it_ends(tracer, escapes):
    """A task's exception that leaves `await` belongs to the hop that records it or lets it out."""

    async def inner(future: asyncio.Future[None]) -> None:
        with tracer.start_as_current_span("inner") as span, failgraph.hop():
            future.set_exception(failure())
            await asyncio.sleep(0.01)
            spans.append(span)

    async def outer() -> None:
        with tracer.start_as_current_span("outer") as span, failgraph.hop():
            spans.append(span)
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(inner(future))
            try:
                await future
            except NgFailureEvent as error:
                if escapes:
                    raise
                failgraph.record(error, own=True)
            finally:
                await task

    spans: list[trace.Span] = []
    if escapes:
        with pytest.raises(NgFailureEvent):
            asyncio.run(outer())
    else:
        asyncio.run(outer())
    outer_span, inner_span = spans
    assert outer_span.attributes[semconv.REPORT_ID] == outer_span.attributes[semconv.REPORT_IDS][0]
    assert semconv.REPORT_ID not in inner_span.attributes


class DropNoisy(Sampler):
    """Drops the spans named `noisy`."""

    def should_sample(self, parent_context, trace_id, name, *args, **kwargs) -> SamplingResult:
        return SamplingResult(Decision.DROP if name == "noisy" else Decision.RECORD_AND_SAMPLE)

    def get_description(self) -> str:
        return "drops noisy"


def test_what_could_not_be_written_on_a_dropped_span_is_written_above_it(make_provider):
    """`nowhere` is no claim: the hop's live span takes the failure when it passes there."""
    tracer = make_provider(sampler=DropNoisy()).get_tracer("test")
    with tracer.start_as_current_span("server") as server, failgraph.hop():
        try:
            with tracer.start_as_current_span("noisy"):
                error = failure()
                assert failgraph.record(error).placement == "nowhere"
                raise error
        except NgFailureEvent as caught:
            failgraph.record(caught, span=server, own=True)
    assert [each[semconv.ID] for each in failure_events([server])] == [error.event_id]
    assert server.attributes[semconv.REPORT_ID] == error.event_id


def test_the_observers_own_is_written_after_a_peers_copy(tracer):
    """A remote copy does not keep the original out; the original is the place of the cause."""
    original = failure()
    copy = failgraph.rebuild_failure(failgraph.failure_report_for(original))
    with tracer.start_as_current_span("root"):
        with tracer.start_as_current_span("peer") as peer:
            failgraph.record(copy)
        with tracer.start_as_current_span("server") as server:
            assert failgraph.record(original, span=server).placement == "span"
            effect = failure("an_effect")
            effect.__cause__ = original
            failgraph.record(effect)
    assert failure_events([peer])[0][semconv.REMOTE] is True
    assert semconv.REMOTE not in failure_events([server])[0]
    assert (
        failure_events([server])[1][semconv.CAUSE_SPAN_ID]
        == f"{server.get_span_context().span_id:016x}"
    )


def test_hops_of_generators_may_end_in_any_order(tracer):
    """A hop that ends before one that began after it leaves no closed hop behind."""

    def work(name: str):
        with failgraph.hop(tracer.start_span(name)):
            yield

    first, second = work("first"), work("second")
    next(first), next(second)
    next(first, None)
    failgraph.record(event("inside_second"))
    assert "inside_second" in failgraph.current_report().events
    next(second, None)
    assert current_hop.get() is None
    assert failgraph.record(event("outside")).placement == "nowhere"


def test_one_hop_object_can_be_entered_twice(tracer):
    """Each entry is a hop of its own, and none stays open."""
    again = failgraph.hop(tracer.start_span("work"))
    with again, again:
        failgraph.record(failure())
    assert recorder().writer.index._open_hops == {}
    assert current_hop.get() is None


def test_a_chain_of_tasks_does_not_keep_its_hops(tracer):
    """Where each task starts the next inside its hop, the closed hops go."""
    depths: list[int] = []

    async def tick(left: int) -> None:
        with failgraph.hop():
            here, depth = current_hop.get(), 0
            while here is not None:
                here, depth = here._outer, depth + 1
            depths.append(depth)
            if left:
                tasks.append(asyncio.create_task(tick(left - 1)))
                await asyncio.sleep(0)

    async def main() -> None:
        tasks.append(asyncio.create_task(tick(200)))
        for task in tasks:
            await task

    tasks: list[asyncio.Task[None]] = []
    asyncio.run(main())
    assert len(depths) == 201
    assert max(depths) < 5


def test_a_long_trace_keeps_nothing_of_ended_spans(tracer):
    """What is known of a span goes with its end, although the trace goes on."""
    with tracer.start_as_current_span("run") as run, failgraph.hop():
        for _ in range(50):
            with tracer.start_as_current_span("step"), failgraph.hop():
                failgraph.record(failure())
        assert len(recorder().writer.index.traces[run.get_span_context().trace_id].spans) == 0


class BreaksFailureSpans(SimpleSpanProcessor):
    """A processor of the user's that raises when a failure span starts."""

    def on_start(self, span, parent_context=None) -> None:
        if span.name == semconv.EVENT_NAME:
            raise RuntimeError("broken")


@pytest.mark.internal_error
def test_a_hop_ends_whole_although_recording_breaks(exporter, setting):
    """Its report goes to the hop around it and onto its span; nothing stays open."""
    setting("EVENTS", "failure_span")
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BreaksFailureSpans(exporter))
    with provider.get_tracer("test").start_as_current_span("work") as span, failgraph.hop():
        with pytest.raises(NgFailureEvent), failgraph.hop():
            raise failure()
        assert len(failgraph.current_report().events) == 1
    assert len(span.attributes[semconv.REPORT_IDS]) == 1
    assert recorder().writer.index._open_hops == {}


class RaisingHandler(logging.Handler):
    """A logging handler of the user's that raises."""

    def emit(self, record: logging.LogRecord) -> None:
        raise RuntimeError("handler")


def test_a_logging_handler_that_raises_does_not_reach_the_program():
    """The one log line may fail; the program goes on."""
    handler = RaisingHandler()
    logging.getLogger("failgraph").addHandler(handler)
    try:
        assert failgraph.record(3.5).placement == "nowhere"
        with failgraph.hop(object()):  # type: ignore[arg-type]
            pass
    finally:
        logging.getLogger("failgraph").removeHandler(handler)
        diagnostics._counters.pop("internal_error")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_while_a_thread_is_recording_is_not_blocked(tracer):
    """Its locks are its own, those of the hop that it inherits too."""
    with tracer.start_as_current_span("work"), failgraph.hop():
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            with hop_log._lock, recorder().writer.index._lock:
                held.set()
                release.wait(10)

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait(10)
        child = os.fork()
        if child == 0:
            recorded: list[failgraph.Recorded] = []
            context = contextvars.copy_context()
            worker = threading.Thread(
                target=lambda: recorded.append(context.run(failgraph.record, event("c"))),
                daemon=True,
            )
            worker.start()
            worker.join(5)
            os._exit(0 if recorded else 1)
        release.set()
        holder.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_record_seen_by_two_hops_of_one_trace_is_written_once(tracer):
    """The trace's entry outlives a hop whose span has a parent in this process."""
    with tracer.start_as_current_span("root") as root:
        with tracer.start_as_current_span("one"), failgraph.hop():
            assert failgraph.record(event("x")).placement == "span"
        with tracer.start_as_current_span("two"), failgraph.hop():
            assert failgraph.record(event("x")).placement == "duplicate"
        assert set(failgraph.report_for_trace(root.get_span_context()).events) == {"x"}
    assert len(recorder().writer.index) == 0


def test_a_failure_span_under_a_remote_span_keeps_the_limits_of_its_own_provider(
    exporter, monkeypatch
):
    """The limits of the span that holds the event apply, not those of the span it stands for."""
    limits = SpanLimits(max_attribute_length=20, max_event_attributes=8)
    provider = TracerProvider(shutdown_on_exit=False, span_limits=limits)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(sdk_spans.trace, "get_tracer_provider", lambda: provider)
    context = trace.SpanContext(1, 2, True, trace.TraceFlags(1))
    recorded = failgraph.record(
        failure(operation="a long name of an operation"), span=trace.NonRecordingSpan(context)
    )
    assert recorded.placement == "failure_span"
    (span,) = exporter.get_finished_spans()
    assert span.events[0].dropped_attributes == 0
    assert (
        failure_events([span])[0][semconv.ID]
        + "".join(failure_events([span])[0][semconv.ID + "_rest"])
        == recorded.event_id
    )


def test_a_deferred_failure_keeps_the_span_that_was_given(tracer):
    """`span` counts for what is deferred too."""
    given = tracer.start_span("given")
    with tracer.start_as_current_span("current"):
        error = failure()
        failgraph.record(error, span=given, deferred=True)
    failgraph.flush()
    assert [each[semconv.ID] for each in failure_events([given])] == [error.event_id]


def test_what_was_deferred_in_a_hop_is_in_its_report(tracer):
    """The end of the hop, and `current_report()`, first write what was deferred."""
    with tracer.start_as_current_span("work") as span, failgraph.hop():
        failgraph.record(event("one"), deferred=True)
        assert set(failgraph.current_report().events) == {"one"}
        failgraph.record(event("two"), deferred=True)
    assert set(span.attributes[semconv.REPORT_IDS]) == {"one", "two"}
    assert not [each for each in failure_events([span]) if semconv.LATE in each]


def test_the_next_span_that_ends_writes_what_was_deferred(tracer, exporter):
    """Nobody has to flush for it."""
    failgraph.record(event("one"), span=(span := tracer.start_span("work")), deferred=True)
    with tracer.start_as_current_span("any"):
        pass
    assert [each[semconv.ID] for each in failure_events([span])] == ["one"]


def test_deferred_failures_that_found_no_place_are_counted():
    """A full queue refuses, and the next record says how often."""
    for number in range(1030):
        failgraph.record(event(str(number)), deferred=True)
    failgraph.flush()
    assert failgraph.stats()["deferred_refused"] == 6


def test_what_is_deferred_meanwhile_waits_for_the_next(tracer):
    """A call records what waits at its start and returns: more may come than it can record."""
    count = itertools.count()

    def again(_: FailureEvent) -> None:
        if next(count) < 5000:
            failgraph.record(event(str(count)), deferred=True)

    with watching(again), tracer.start_as_current_span("one"):
        failgraph.record(event("first"))
        failgraph.record(event("second"))
    assert next(count) < 100


@pytest.mark.internal_error
def test_one_provider_that_raises_keeps_no_other_from_its_flush(monkeypatch):
    """Each has its turn; the answer is False, and no time-out is counted."""
    flushed: list[str] = []

    class Provider:
        def __init__(self, name: str) -> None:
            self.name = name

        def force_flush(self, timeout_millis: int) -> bool:
            flushed.append(self.name)
            if self.name == "bad":
                raise RuntimeError(self.name)
            return True

    monkeypatch.setattr(
        recorder().writer.pipelines, "processors", lambda: [Provider("bad"), Provider("good")]
    )
    assert failgraph.flush() is False
    assert flushed == ["bad", "good"]
    assert "flush_timeout" not in failgraph.stats()


@pytest.mark.internal_error
@pytest.mark.parametrize("broken", ["drain", "pipelines"])
def test_a_flush_that_fails_answers_false_and_is_no_time_out(broken):
    """What fails first keeps nothing else from its turn."""
    called: list[str] = []

    def part(name: str, result: object) -> Callable[[], Any]:
        def call() -> object:
            called.append(name)
            if name == broken:
                raise RuntimeError(name)
            return result

        return call

    assert flush_within(5, part("drain", None), part("pipelines", [])) is False
    assert called == ["drain", "pipelines"]
    assert "flush_timeout" not in failgraph.stats()


@pytest.mark.internal_error
def test_a_global_provider_that_cannot_be_made_keeps_no_other_from_its_flush(monkeypatch, exporter):
    """The API raises if a variable names one that it cannot make; the answer is False."""

    def unknown() -> None:
        raise RuntimeError("no such provider")

    monkeypatch.setattr(recorder_module, "get_tracer_provider", unknown)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=3_600_000))
    with provider.get_tracer("test").start_as_current_span("work"):
        failgraph.record(event())
    assert failgraph.flush() is False
    assert len(exporter.get_finished_spans()) == 1


@pytest.mark.parametrize("timeout_s", [float("inf"), 1e300, threading.TIMEOUT_MAX])
def test_a_flush_may_have_any_time(make_provider, timeout_s):
    """No time is too long for the answer True."""
    with make_provider().get_tracer("test").start_as_current_span("work"):
        failgraph.record(event())
    assert failgraph.flush(timeout_s) is True


def test_a_second_hop_on_a_full_span_evicts_nothing(make_provider):
    """Our own attributes that stand there already need no new place, and the user's stay."""
    tracer = make_provider(max_span_attributes=5).get_tracer("test")
    with tracer.start_as_current_span("work", attributes={"user.a": 1, "user.b": 2}) as span:
        with failgraph.hop():
            failgraph.record(failure())
        with failgraph.hop():
            failgraph.record(failure(), own=True)
    assert span.dropped_attributes == 0
    assert {"user.a", "user.b", semconv.REPORT_SCHEMA_VERSION} <= set(span.attributes)


def test_a_root_cause_of_an_earlier_hop_leaves_no_stale_span(tracer):
    """If the second hop's root cause has no known place, that of the first hop is cleared."""
    remote = failgraph.rebuild_failure(failgraph.failure_report_for(failure("from_elsewhere")))
    with tracer.start_as_current_span("work") as span:
        with failgraph.hop():
            failgraph.record(failure("first"))
        with failgraph.hop():
            failgraph.record(remote, own=True)
    assert span.attributes[semconv.REPORT_ROOT_KIND] == "from_elsewhere"
    assert span.attributes[semconv.REPORT_ROOT_SPAN_ID] == ""


def test_the_own_failure_of_a_trace_is_that_of_its_outermost_hop(tracer):
    """Not of the last one to end: a background task may outlive it."""
    with tracer.start_as_current_span("root") as root:
        with failgraph.hop():
            with tracer.start_as_current_span("background"):
                context = contextvars.copy_context()
                background = failgraph.hop()
                context.run(background.__enter__)
            error = failure("agent_timeout")
            failgraph.record(error, own=True)
        context.run(failgraph.record, failure("its_own"), own=True)
        context.run(background.__exit__, None, None, None)
        assert failgraph.report_for_trace(root.get_span_context()).failure_id == error.event_id


def test_a_cause_is_looked_for_in_this_trace_first(tracer):
    """If a record is in two traces, its effect names the span in its own trace, without a link."""
    with tracer.start_as_current_span("here") as span:
        failgraph.record(event("cause"))
        with tracer.start_as_current_span(
            "there", context=trace.set_span_in_context(trace.INVALID_SPAN)
        ):
            failgraph.record(event("cause"))
        failgraph.record(event("effect", cause_id="cause"))
    assert (
        failure_events([span])[1][semconv.CAUSE_TRACE_ID]
        == f"{span.get_span_context().trace_id:032x}"
    )
    assert not span.links


class Group(Exception):
    """Has members as an exception group does."""

    def __init__(self, *members: BaseException) -> None:
        super().__init__("group")
        self.exceptions: tuple[BaseException, ...] = members


def test_a_groups_own_explicit_cause_is_recorded_too(tracer):
    """`raise group from failure`: the failure is there, and the members by the keywords."""
    with tracer.start_as_current_span("work") as span:
        group = Group(ValueError("member"))
        group.__cause__ = failure("a_cause")
        recorded = failgraph.record(group, boundary="agent", kind="a_member")
    assert [each[semconv.KIND] for each in failure_events([span])] == ["a_cause", "a_member"]
    assert recorded.event_id == failure_events([span])[1][semconv.ID]


def test_a_group_in_a_ring_or_very_deep_is_recorded_all_the_same(tracer):
    """However groups nest, every failure in them is written once."""
    ring = Group(failure("in_a_ring"))
    ring.exceptions = (*ring.exceptions, ring)
    deep: BaseException = failure("very_deep")
    for _ in range(3000):
        deep = Group(deep)
    with tracer.start_as_current_span("work") as span:
        failgraph.record(ring)
        failgraph.record(deep)
    assert [each[semconv.KIND] for each in failure_events([span])] == ["in_a_ring", "very_deep"]


def test_an_id_that_is_no_text_is_written_as_text():
    """Whoever sets `event_id` to a UUID gets its text, in the record and as a cause."""
    cause, effect = failure(), failure()
    cause.event_id = uuid.UUID(int=7)  # type: ignore[assignment]
    effect.__cause__ = cause
    assert cause.to_record().event_id == effect.to_record().cause_id == str(uuid.UUID(int=7))


class WithProperty(NgFailureEvent):
    """A subclass of the user's whose property raises."""

    @property
    def operation(self) -> str:
        raise RuntimeError("not now")

    @operation.setter
    def operation(self, value: object) -> None:
        pass


def test_a_property_that_raises_costs_its_field_only():
    """The record is made all the same, and so is the report."""
    error = WithProperty("transport_timeout", boundary="model")
    assert error.to_record().operation is None
    assert list(failgraph.failure_report_for(error).events) == [error.event_id]


def test_a_foreign_exception_recorded_before_the_hop_is_its_own_failure_when_it_escapes(tracer):
    """What was recorded earlier in the trace is known by its id."""
    error = ValueError("bad")
    with tracer.start_as_current_span("work"):
        recorded = failgraph.record(error, boundary="agent", kind="x_y")
        with tracer.start_as_current_span("inner", set_status_on_exception=False) as inner:
            with pytest.raises(ValueError, match="bad"), failgraph.hop():
                raise error
    assert inner.attributes[semconv.REPORT_ID] == recorded.event_id


def test_the_count_of_an_outer_hop_holds_what_the_inner_one_had_to_forget(tracer):
    """`report.count` is how many were seen, kept or not."""
    with tracer.start_as_current_span("outer") as outer, failgraph.hop():
        with tracer.start_as_current_span("inner") as inner, failgraph.hop():
            for number in range(hop_log.MAX_LOGGED + 76):
                failgraph.record(event(str(number)))
    assert (
        inner.attributes[semconv.REPORT_COUNT]
        == outer.attributes[semconv.REPORT_COUNT]
        == hop_log.MAX_LOGGED + 76
    )


def test_late_for_an_inner_hop_is_still_seen_by_the_outer_one(tracer):
    """The open hop around a closed one reports the failure of a task that outlives it."""
    with tracer.start_as_current_span("outer") as outer, failgraph.hop():
        with tracer.start_as_current_span("inner"), failgraph.hop():
            context = contextvars.copy_context()
        recorded = context.run(lambda: failgraph.record(failure()))
    assert recorded.placement == "failure_span"
    assert outer.attributes[semconv.REPORT_IDS] == (recorded.event_id,)


def test_every_ordinary_end_frees_the_trace(tracer):
    """Hops that end after their span, and failures between the two, leave no entry behind."""
    span = tracer.start_span("work")
    with trace.use_span(span), failgraph.hop():
        failgraph.record(failure())
        span.end()
    assert len(recorder().writer.index) == 0
    with tracer.start_as_current_span("work"):
        with failgraph.hop():
            context = contextvars.copy_context()
        context.run(lambda: failgraph.record(failure()))
    assert len(recorder().writer.index) == 0
    context = trace.SpanContext(3, 4, True, trace.TraceFlags(1))
    with trace.use_span(trace.NonRecordingSpan(context)), failgraph.hop():
        failgraph.record(failure())
    assert len(recorder().writer.index) == 0


def test_a_failure_without_a_boundary_is_counted_once_wherever_it_stands(tracer):
    """Escaping a hop, and then as a cause; its effect names the next cause."""
    nameless, root = NgFailureEvent("x_y"), failure("a_root")
    nameless.__cause__ = root
    with tracer.start_as_current_span("work", set_status_on_exception=False) as span:
        with pytest.raises(NgFailureEvent), failgraph.hop():
            raise nameless
        top = failure("a_top")
        top.__cause__ = nameless
        failgraph.record(top)
    assert failgraph.stats()["no_boundary"] == 1
    assert [each.get(semconv.CAUSE_ID) for each in failure_events([span])] == [None, root.event_id]


def test_a_kind_given_with_a_failure_that_has_none_is_taken(tracer):
    """The keyword fills what the failure does not say."""
    with tracer.start_as_current_span("work") as span:
        failgraph.record(NgFailureEvent("", boundary="agent"), kind="judge_failed")
    assert failure_events([span])[0][semconv.KIND] == "judge_failed"


def test_a_link_that_the_user_has_made_is_not_made_again(tracer):
    """Never twice to one target, whoever came first."""
    with tracer.start_as_current_span("cause") as cause_span:
        cause = failure("a_cause")
        failgraph.record(cause)
    with tracer.start_as_current_span(
        "effect", links=[trace.Link(cause_span.get_span_context())]
    ) as span:
        effect = failure("an_effect")
        effect.__cause__ = cause
        failgraph.record(effect)
    assert len(span.links) == 1


class Stubborn(Exception):
    """Refuses attributes in its own way."""

    def __setattr__(self, name: str, value: object) -> None:
        raise ValueError(name)


def test_an_exception_that_refuses_attributes_is_marked_all_the_same(tracer):
    """The mark is set without `setattr`, so no code of the program runs; it is one failure."""
    error = Stubborn()
    with tracer.start_as_current_span("work") as span:
        assert failgraph.record(error, boundary="agent", kind="x_y").placement == "span"
        assert failgraph.record(error, boundary="agent", kind="x_y").placement == "duplicate"
    assert len(failure_events([span])) == 1


def test_what_is_recorded_after_the_end_of_its_trace_goes_first(tracer, monkeypatch):
    """Late failures of ended traces evict no live trace, and are still written once."""
    monkeypatch.setattr(index, "MAX_TRACES", 3)
    with tracer.start_as_current_span("live") as live:
        failgraph.record(event("live"))
        for _ in range(10):
            ended = tracer.start_span(
                "ended", context=trace.set_span_in_context(trace.INVALID_SPAN)
            )
            with trace.use_span(ended):
                error = failure()
            ended.end()
            assert failgraph.record(error).placement == "failure_span"
            assert failgraph.record(error).placement == "duplicate"
        assert set(failgraph.report_for_trace(live.get_span_context()).events) == {"live"}


def test_an_exception_does_not_remember_traces_for_ever(tracer):
    """One that is kept and raised in any number of traces keeps the newest of them."""
    error = failure()
    for _ in range(100):
        with tracer.start_as_current_span("work"):
            assert failgraph.record(error).placement == "span"
    assert len(error._written) == 64


def test_late_is_what_comes_after_the_report_of_the_span(tracer):
    """The outer of two hops on a span writes the report: what comes before that is not late."""
    with tracer.start_as_current_span("work") as span, failgraph.hop():
        with failgraph.hop():
            context = contextvars.copy_context()
        context.run(lambda: failgraph.record(failure()))
    assert semconv.LATE not in failure_events([span])[0]
    assert span.attributes[semconv.REPORT_IDS] == (failure_events([span])[0][semconv.ID],)


def test_all_events_of_all_traces_are_bounded(tracer, monkeypatch):
    """Many traces with many failures: the oldest traces go before the sum is too much."""
    monkeypatch.setattr(index, "MAX_EVENTS_IN_ALL", 100)
    for number in range(30):
        with tracer.start_as_current_span("work"):
            for each in range(10):
                failgraph.record(event(f"{number}-{each}"))
    assert (
        sum(len(each.events) for each in recorder().writer.index.traces.values())
        == recorder().writer.index._event_count
        <= 110
    )


def test_an_event_id_names_one_record_in_every_trace(tracer):
    """Hints fill in what a failure does not say, but only until it is observed first."""
    observed: list[FailureEvent] = []
    error, hinted = failure(), failure()
    with watching(observed.append):
        for stages in ((None, "agent"), ("agent", None)):
            for each, stage in zip((error, hinted), stages, strict=True):
                with tracer.start_as_current_span("work"):
                    assert failgraph.record(each, stage=stage).placement != "nowhere"
    assert [each.stage for each in observed] == [None, "agent"] * 2
    assert observed[:2] == observed[2:]


def test_a_claim_given_back_leaves_what_it_replaced():
    """Given back, the claim of the observer leaves the peer's copy, the slots and the links."""
    known, copy, place = index.Index(), event("one"), remote_span(1, 2)
    known.set_remote_place(copy, 1, place)
    while known.take_event_slot(place):
        pass
    assert known.claim(1, copy, is_remote=False, in_hop=True) is None
    known.release(1, "one")
    assert known.span_of(1, "one") == place
    assert not known.take_event_slot(place)
    known.claim(1, copy, is_remote=False, in_hop=True)
    known.set_place(copy, place, is_remote=False)
    assert known.observed("one", 1) == copy


def test_a_claim_given_back_leaves_the_slots_of_its_trace():
    """A first failure that could not be written frees no slot that was taken on a span."""
    known, place = index.Index(), remote_span(1, 2)
    while known.take_event_slot(place):
        pass
    known.claim(1, event("one"), is_remote=False, in_hop=True)
    known.release(1, "one")
    assert not known.take_event_slot(place)


def test_the_exit_of_an_entry_that_opened_nothing_closes_nothing(tracer, monkeypatch):
    """Each exit of a hop that is used again undoes its own entry only."""
    with tracer.start_as_current_span("work") as span:
        again = failgraph.hop()
        with again:
            outer = current_hop.get()
            monkeypatch.setenv("FAILGRAPH_ENABLED", "false")
            settings.current.cache_clear()
            with again:
                assert current_hop.get() is outer
            monkeypatch.delenv("FAILGRAPH_ENABLED")
            settings.current.cache_clear()
            assert current_hop.get() is outer
            failgraph.record(failure())
    assert current_hop.get() is None
    assert span.attributes[semconv.REPORT_COUNT] == 1


def test_a_watcher_inside_of_itself_is_removed_once():
    """Each block of `watching` ends its own watch only, also of the same function."""
    seen: list[FailureEvent] = []
    watcher = seen.append
    with watching(watcher):
        with watching(watcher):
            failgraph.record(event("twice"))
        failgraph.record(event("once"))
    failgraph.record(event("never"))
    assert [each.event_id for each in seen] == ["twice", "twice", "once"]


@pytest.mark.internal_error
def test_a_watcher_that_raises_changes_nothing(tracer, caplog):
    """Its error is counted and logged; the failure is written, and other watchers see it."""

    def broken(_: FailureEvent) -> None:
        raise RuntimeError("watcher")

    seen: list[FailureEvent] = []
    with watching(broken), watching(seen.append), tracer.start_as_current_span("work"):
        assert failgraph.record(event("one")).placement == "span"
    assert [each.event_id for each in seen] == ["one"]
    assert failgraph.stats()["internal_error"] == 1
    assert "calling a watcher failed (RuntimeError)" in caplog.text


def test_the_report_of_a_closed_hop_is_final_even_if_none_was_written(tracer):
    """Of hops on one span the outermost must report; once it is closed, no report can follow."""
    with tracer.start_as_current_span("work") as span:
        with failgraph.hop():
            outer = current_hop.get()
            with failgraph.hop():
                inner = current_hop.get()
            assert not inner.is_report_final()
            assert not inner.must_report()
            assert not outer.is_report_final()
            assert outer.must_report()
    assert outer.is_report_final()
    assert inner.is_report_final()
    assert not span.attributes
