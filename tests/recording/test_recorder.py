"""A failure goes where it belongs, once, and failgraph never hurts the program."""

from __future__ import annotations

import contextvars
import gc
import logging
import os
import pickle
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import failgraph
from builders import failure
from failgraph import NgFailureEvent, semconv
from failgraph.recording import index
from failgraph.recording.recorder import recorder
from sdk_spans import failure_events


def spans_by_name(exporter: InMemorySpanExporter) -> dict[str, object]:
    return {span.name: span for span in exporter.get_finished_spans()}


def all_ids(exporter: InMemorySpanExporter) -> list[str]:
    return [
        event[semconv.ID]
        for span in exporter.get_finished_spans()
        for event in failure_events([span])
    ]


def test_a_failure_lands_on_the_live_span_with_the_time_of_its_birth(tracer, exporter):
    """The event stands on the span that was running, at the moment that the exception was made."""
    with tracer.start_as_current_span("work") as span:
        error = failure()
        span.add_event("later")
        recorded = failgraph.record(error)
    assert recorded == (error.event_id, "span", span.get_span_context())
    (ours,) = [event for event in span.events if event.name == semconv.EVENT_NAME]
    (theirs,) = [event for event in span.events if event.name == "later"]
    assert span.start_time <= ours.timestamp <= theirs.timestamp


def test_an_event_is_never_older_than_its_span(tracer):
    """Tempo stores unsigned offsets: a failure from before the span gets the span's start time."""
    error = failure()
    with tracer.start_as_current_span("work") as span:
        failgraph.record(error)
    assert span.events[0].timestamp == span.start_time


def test_causes_are_written_before_their_effects(tracer, exporter):
    """An exception is recorded with its explicit causes, causes first; its own id is returned."""
    with tracer.start_as_current_span("work"):
        root, middle, top = failure("a_root"), failure("a_middle"), failure("a_top")
        middle.__cause__, top.__cause__ = root, middle
        recorded = failgraph.record(top)
    assert recorded.event_id == top.event_id
    assert all_ids(exporter) == [root.event_id, middle.event_id, top.event_id]


def test_an_effect_names_the_span_of_its_cause(tracer, exporter):
    """Where the cause's span is known the effect carries it, also from another trace."""
    with tracer.start_as_current_span("one") as one:
        cause = failure()
        failgraph.record(cause)
    with tracer.start_as_current_span("two"):
        effect = failure()
        effect.__cause__ = cause
        failgraph.record(effect)
    (event,) = failure_events([spans_by_name(exporter)["two"]])
    context = one.get_span_context()
    assert event[semconv.CAUSE_ID] == cause.event_id
    assert event[semconv.CAUSE_TRACE_ID] == f"{context.trace_id:032x}"
    assert event[semconv.CAUSE_SPAN_ID] == f"{context.span_id:016x}"


def test_once_a_trace_however_often_it_is_seen(tracer, exporter):
    """Recorded by hand, re-raised, and passing nested spans and hops, a failure is written once."""
    error = None
    with tracer.start_as_current_span("outer"), failgraph.hop():
        try:
            with tracer.start_as_current_span("inner"), failgraph.hop():
                error = failure()
                failgraph.record(error)
                raise error
        except NgFailureEvent as caught:
            assert failgraph.record(caught).placement == "duplicate"
            assert failgraph.record(caught.to_record()).placement == "duplicate"
    assert all_ids(exporter) == [error.event_id]


def test_an_evicted_entry_does_not_write_twice(tracer, exporter, monkeypatch):
    """The exception knows the traces that it was written to, so a bounded index is enough."""
    monkeypatch.setattr(index, "MAX_TRACES", 1)
    with tracer.start_as_current_span("one"):
        error = failure()
        failgraph.record(error)
        with tracer.start_as_current_span(
            "other", context=trace.set_span_in_context(trace.INVALID_SPAN)
        ):
            failgraph.record(failure("other"))
        assert failgraph.record(error).placement == "duplicate"
    assert all_ids(exporter).count(error.event_id) == 1
    assert failgraph.stats()["traces_evicted"] >= 1


def test_two_threads_that_record_one_failure_write_it_once(tracer, exporter):
    """The claim on an event is taken before it is written."""
    with tracer.start_as_current_span("work"):
        event = failure().to_record()
        start = threading.Barrier(8)

        def work() -> str:
            start.wait()
            return failgraph.record(event).placement

        contexts = [contextvars.copy_context() for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            placements = list(pool.map(lambda context: context.run(work), contexts))
    assert sorted(placements) == ["duplicate"] * 7 + ["span"]
    assert len(all_ids(exporter)) == 1


def test_recorded_after_its_span_ended_it_goes_on_a_failure_span(tracer, exporter):
    """A failure span is an INTERNAL child of its span, from the failure's birth to now."""
    with tracer.start_as_current_span("work") as span:
        error = failure()
    recorded = failgraph.record(error)
    assert recorded.placement == "failure_span"
    found = spans_by_name(exporter)[semconv.EVENT_NAME]
    assert found.parent.span_id == span.get_span_context().span_id
    assert found.context == recorded.span_context
    assert found.kind is trace.SpanKind.INTERNAL
    assert found.attributes[semconv.FAILURE_SPAN] is True
    assert found.start_time == found.events[0].timestamp <= found.end_time
    assert found.resource == span.resource


def test_its_own_span_ended_although_another_of_the_trace_runs(tracer, exporter):
    """The place is where the exception was created: a failure span below the ended inner span."""
    with tracer.start_as_current_span("outer") as outer:
        with tracer.start_as_current_span("inner") as inner:
            error = failure()
        assert failgraph.record(error).placement == "failure_span"
    assert not outer.events
    assert (
        spans_by_name(exporter)[semconv.EVENT_NAME].parent.span_id
        == inner.get_span_context().span_id
    )


def test_made_in_a_request_and_recorded_on_another_thread(tracer, exporter):
    """An exception lands in its own trace, whatever the recording thread is doing."""
    with tracer.start_as_current_span("request") as request:
        error = failure()

        def work() -> failgraph.Recorded:
            with tracer.start_as_current_span("elsewhere"):
                return failgraph.record(error)

        with ThreadPoolExecutor(1) as pool:
            recorded = pool.submit(work).result()
    assert recorded.span_context == request.get_span_context()


def test_made_on_a_thread_without_context_it_goes_where_it_is_raised_again(tracer, exporter):
    """A future's exception has no place of its own and takes that of the caller."""

    def work() -> None:
        raise failure()

    with tracer.start_as_current_span("caller") as caller, ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        with pytest.raises(NgFailureEvent) as caught:
            future.result()
        assert failgraph.record(caught.value).span_context == caller.get_span_context()


def test_without_any_place_it_is_counted_as_nowhere(tracer):
    """No trace is guessed."""
    error = failure()
    assert failgraph.record(error) == (error.event_id, "nowhere", None)
    assert failgraph.stats()["nowhere"] == 1


def test_an_unsampled_trace_holds_nothing_and_says_so(make_provider, exporter):
    """An unsampled span drops events silently, and so does a failure span below it."""
    tracer = make_provider(sampler=ALWAYS_OFF).get_tracer("test")
    with tracer.start_as_current_span("work"):
        assert failgraph.record(failure()).placement == "nowhere"
    assert exporter.get_finished_spans() == ()


def test_an_explicit_span_wins(tracer, exporter):
    """`span` says where, whatever is current."""
    given = tracer.start_span("given")
    with tracer.start_as_current_span("current"):
        assert failgraph.record(failure(), span=given).span_context == given.get_span_context()
    given.end()


def test_a_failure_span_uses_the_pipeline_of_its_span_not_the_global_one(exporter):
    """With a provider other than the global one, the failure span goes where the span goes."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("test").start_as_current_span("work"):
        error = failure()
    assert failgraph.record(error).placement == "failure_span"
    assert all_ids(exporter) == [error.event_id]


def test_placement_failure_span_exports_at_once(tracer, exporter, setting):
    """With FAILGRAPH_EVENTS=failure_span a failure is exported before its span has ended."""
    setting("EVENTS", "failure_span")
    with tracer.start_as_current_span("work"):
        error = failure()
        assert failgraph.record(error).placement == "failure_span"
        assert all_ids(exporter) == [error.event_id]


def test_enabled_false_does_nothing(tracer, exporter, setting):
    """With FAILGRAPH_ENABLED=false, `record` and `hop` do nothing."""
    setting("ENABLED", "false")
    with tracer.start_as_current_span("work") as span, failgraph.hop():
        assert failgraph.record(failure(), own=True) == (None, "nowhere", None)
        assert failgraph.current_report() == failgraph.FailureReport()
    assert not span.events
    assert not span.attributes


@pytest.mark.parametrize(
    ("error", "hints", "expected"),
    [
        (TimeoutError("slow"), {"boundary": "sandbox"}, ("sandbox", "transport_timeout", "slow")),
        (
            ValueError("bad"),
            {"boundary": "agent", "kind": "agent_run_error"},
            ("agent", "agent_run_error", "bad"),
        ),
        (
            ValueError("bad"),
            {"boundary": "agent", "kind": "x_y", "reason": "why"},
            ("agent", "x_y", "why"),
        ),
        (
            failure("transport_timeout", "own", boundary="model"),
            {"boundary": "agent", "kind": "x_y"},
            ("model", "transport_timeout", "own"),
        ),
        (NgFailureEvent("x_y"), {"boundary": "agent", "reason": "why"}, ("agent", "x_y", "why")),
    ],
)
def test_keywords_fill_only_what_the_failure_does_not_say(tracer, error, hints, expected):
    """Keywords describe a foreign exception; a failure keeps what it says itself."""
    with tracer.start_as_current_span("work") as span:
        failgraph.record(error, **hints)
    (event,) = failure_events([span])
    assert (event[semconv.BOUNDARY], event[semconv.KIND], event[semconv.REASON]) == expected


@pytest.mark.parametrize(
    ("error", "hints", "counter"),
    [
        (ValueError("bad"), {"kind": "x_y"}, "no_boundary"),
        (ValueError("bad"), {"boundary": "agent"}, "no_kind"),
        (NgFailureEvent("x_y"), {}, "no_boundary"),
        ("text", {"boundary": "agent", "kind": "x_y"}, "wrong_type"),
    ],
)
def test_what_cannot_be_a_record_is_counted_and_not_recorded(tracer, error, hints, counter):
    """Without a boundary or kind, or of a wrong type, nothing is recorded; each is counted."""
    with tracer.start_as_current_span("work") as span:
        assert failgraph.record(error, **hints) == (None, "nowhere", None)
    assert failgraph.stats()[counter] == 1
    assert not span.events


def test_a_foreign_exception_is_one_failure_however_often_it_is_recorded(tracer, exporter):
    """Its event id stays with it, and an effect raised from it names it as its cause."""
    with tracer.start_as_current_span("work"):
        error = ValueError("bad")
        first = failgraph.record(error, boundary="agent", kind="x_y")
        assert failgraph.record(error, boundary="agent", kind="x_y").event_id == first.event_id
        effect = failure()
        effect.__cause__ = error
        failgraph.record(effect)
    assert all_ids(exporter) == [first.event_id, effect.event_id]
    assert failure_events([spans_by_name(exporter)["work"]])[1][semconv.CAUSE_ID] == first.event_id


def test_a_recorded_foreign_exception_pickles_without_failgraph():
    """failgraph leaves only text on a foreign exception, so it loads without failgraph."""
    error = ValueError("bad")
    failgraph.record(error, boundary="agent", kind="x_y")
    script = (
        "import pickle, sys; sys.modules['failgraph'] = None;"
        " print(repr(pickle.loads(sys.stdin.buffer.read())))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], input=pickle.dumps(error), capture_output=True, check=True
    )
    assert found.stdout.decode().strip() == "ValueError('bad')"


class Group(Exception):
    """Has members as an exception group does; Python 3.10 has none of its own."""

    def __init__(self, *members: BaseException) -> None:
        super().__init__("group")
        self.exceptions = members


def test_the_members_of_a_group_are_recorded(tracer, exporter):
    """The id of a group's first member is returned; keywords describe each foreign member."""
    first, second = failure("a_first"), ValueError("second")
    with tracer.start_as_current_span("work"):
        recorded = failgraph.record(Group(first, Group(second)), boundary="agent", kind="x_y")
    assert recorded.event_id == first.event_id
    assert [event[semconv.KIND] for event in failure_events([spans_by_name(exporter)["work"]])] == [
        "a_first",
        "x_y",
    ]


def test_a_copy_from_elsewhere_is_marked_remote(tracer, exporter):
    """A failure rebuilt from a report is written as a copy; a copy is no place of a cause."""
    remote = failgraph.rebuild_failure(failgraph.failure_report_for(failure("from_elsewhere")))
    with tracer.start_as_current_span("work"):
        effect = failure()
        effect.__cause__ = remote
        failgraph.record(effect)
    copy, own = failure_events([spans_by_name(exporter)["work"]])
    assert copy[semconv.REMOTE] is True
    assert semconv.REMOTE not in own
    assert own[semconv.CAUSE_ID] == copy[semconv.ID]
    assert semconv.CAUSE_SPAN_ID not in own


def test_what_was_observed_here_is_no_copy_when_it_comes_back(tracer, exporter):
    """A report that returns to the process and trace of its observer writes nothing again."""
    with tracer.start_as_current_span("work"):
        error = failure()
        failgraph.record(error)
        assert (
            failgraph.record(NgFailureEvent.from_record(error.to_record())).placement == "duplicate"
        )
    assert len(all_ids(exporter)) == 1


def test_unpickled_it_has_no_place_but_the_time_of_now(tracer, exporter):
    """Place and written traces are of the process that made the exception; its identity crosses."""
    with tracer.start_as_current_span("there"):
        error = failure()
        failgraph.record(error)
    back = pickle.loads(pickle.dumps(error))
    with tracer.start_as_current_span("here") as here:
        assert failgraph.record(back) == (error.event_id, "span", here.get_span_context())


def test_deferred_takes_no_lock_and_is_written_at_the_flush_of_the_provider(
    make_provider, exporter
):
    """`deferred` only queues; a flush writes it with its own time, on its own span."""
    provider = make_provider()
    with provider.get_tracer("test").start_as_current_span("work") as span:
        with recorder().writer.index._lock:
            recorded: list[failgraph.Recorded] = []
            error = failure()
            context = contextvars.copy_context()
            work = threading.Thread(
                target=lambda: recorded.append(context.run(failgraph.record, error, deferred=True))
            )
            work.start()
            work.join(5)
        assert recorded == [(error.event_id, "deferred", None)]
        assert not span.events
        provider.force_flush()
        (event,) = failure_events([span])
    assert event[semconv.ID] == error.event_id


def test_the_deferred_queue_is_bounded():
    """A signal that never stops cannot fill the memory."""
    placements = [failgraph.record(failure(), deferred=True).placement for _ in range(1100)]
    assert placements.count("deferred") == 1024
    assert placements[-1] == "nowhere"


def test_flush_reaches_a_provider_that_is_not_global(make_provider, exporter):
    """`flush` writes what was deferred and flushes each provider that failures were written for."""
    with make_provider().get_tracer("test").start_as_current_span("work"):
        error = failure()
    failgraph.record(error, deferred=True)
    assert failgraph.flush() is True
    assert all_ids(exporter) == [error.event_id]


def test_flush_reaches_the_provider_of_a_live_span_that_a_failure_was_written_on(exporter):
    """It need not be the global one, nor have made a failure span, and is not kept alive for it."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=3_600_000))
    with provider.get_tracer("test").start_as_current_span("work"):
        error = failure()
        assert failgraph.record(error).placement == "span"
    assert failgraph.flush() is True
    assert all_ids(exporter) == [error.event_id]
    provider.shutdown()
    processor = weakref.ref(provider._active_span_processor)
    del provider, error
    for _ in range(2):
        gc.collect()
    assert processor() is None


class Stuck(SimpleSpanProcessor):
    """Does not come back from a flush in time."""

    release = threading.Event()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self.release.wait(30)


def test_flush_keeps_its_deadline(exporter):
    """A processor that hangs is left behind: `flush` answers False, and counts it."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Stuck(exporter))
    with provider.get_tracer("test").start_as_current_span("work"):
        error = failure()
    failgraph.record(error)
    assert failgraph.flush(0.05) is False
    assert failgraph.stats()["flush_timeout"] == 1
    Stuck.release.set()


def test_report_for_trace_is_what_this_process_recorded(tracer):
    """It has every failure of the trace; the own one is that of the outermost ended hop."""
    with tracer.start_as_current_span("work") as span:
        with failgraph.hop():
            cause, effect = failure("a_cause"), failure("an_effect")
            effect.__cause__ = cause
            failgraph.record(effect, own=True)
            assert failgraph.report_for_trace(span.get_span_context()).failure_id is None
        report = failgraph.report_for_trace(span.get_span_context())
    assert set(report.events) == {cause.event_id, effect.event_id}
    assert report.events[effect.event_id].cause_id == cause.event_id
    assert report.failure_id == effect.event_id


def test_the_processor_frees_a_trace_when_its_hops_have_ended(tracer):
    """The last of nested hops frees their trace; a trace without hops stays until evicted."""
    with tracer.start_as_current_span("outer"), failgraph.hop():
        with tracer.start_as_current_span("inner"), failgraph.hop():
            failgraph.record(failure())
        assert len(recorder().writer.index) == 1
    assert len(recorder().writer.index) == 0
    with tracer.start_as_current_span("no hop"):
        failgraph.record(failure())
    assert len(recorder().writer.index) == 1


def test_no_state_until_something_fails(tracer):
    """Spans and hops without failures leave nothing behind."""
    for _ in range(3):
        with tracer.start_as_current_span("work"), failgraph.hop():
            pass
    assert len(recorder().writer.index) == 0
    assert recorder().writer.index._open_hops == {}
    assert failgraph.stats() == {}
    assert "on_start" not in vars(failgraph.FailureSpanProcessor)


def test_the_index_is_bounded_in_traces_and_in_events(tracer, monkeypatch):
    """The least recently used trace and the oldest event go first, counted."""
    monkeypatch.setattr(index, "MAX_TRACES", 4)
    monkeypatch.setattr(index, "MAX_EVENTS", 3)
    monkeypatch.setattr(index, "MAX_PLACES", 5)
    for _ in range(6):
        with tracer.start_as_current_span("work") as span:
            for _ in range(5):
                failgraph.record(failure())
    assert len(recorder().writer.index) == 4
    assert len(failgraph.report_for_trace(span.get_span_context()).events) == 3
    assert failgraph.stats()["traces_evicted"] == 2
    assert failgraph.stats()["events_evicted"] == 12
    assert failgraph.stats()["places_evicted"] == 25


class Broken(SimpleSpanProcessor):
    """Raises when a span ends, a failure span too."""

    def on_end(self, span) -> None:
        raise RuntimeError("broken")


@pytest.mark.internal_error
def test_an_error_inside_failgraph_is_swallowed_logged_once_and_counted(exporter, caplog):
    """Nothing raises into user code; one log line a kind of fault; a later try may succeed."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Broken(exporter))
    span = provider.get_tracer("test").start_span("work")
    with trace.use_span(span):
        first, second = failure(), failure()
    with pytest.raises(RuntimeError):
        span.end()
    with caplog.at_level(logging.WARNING, "failgraph"):
        assert failgraph.record(first).placement == "nowhere"
        assert failgraph.record(second).placement == "nowhere"
    assert failgraph.stats()["internal_error"] == 2
    assert len(caplog.records) == 1


def test_an_unknown_kind_is_kept_and_flagged_once(tracer, caplog):
    """A kind of neither pattern is kept, with `error.type` `_OTHER` and one log line."""
    with (
        tracer.start_as_current_span("work") as span,
        caplog.at_level(logging.WARNING, "failgraph"),
    ):
        failgraph.record(failure("Not A Name"))
        failgraph.record(failure("Not A Name"))
    assert failure_events([span])[0][semconv.KIND] == "Not A Name"
    assert failure_events([span])[0][semconv.ERROR_TYPE] == "_OTHER"
    assert len(caplog.records) == 1
    assert failgraph.stats()["unknown_kind"] == 2


def test_text_that_would_lose_the_batch_is_written_out(tracer):
    """A lone surrogate is escaped visibly and counted; the event survives."""
    with tracer.start_as_current_span("work") as span:
        failgraph.record(failure("kind\udc80", failure_reason="reason \ud800"))
    (event,) = failure_events([span])
    assert event[semconv.KIND] == "kind\\udc80"
    assert event[semconv.REASON] == "reason \\ud800"
    assert failgraph.stats()["surrogate_escaped"] >= 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_starts_empty(tracer):
    """The child has its own state, counters and locks, and writes nothing of its parent again."""
    with tracer.start_as_current_span("work"):
        error = failure()
        failgraph.record(error)
        lock = recorder().writer.index._lock
        with lock:
            child = os.fork()
            if child == 0:
                ok = (
                    len(recorder().writer.index) == 0
                    and failgraph.stats() == {}
                    and failgraph.record(error).placement == "duplicate"
                    and failgraph.record(failure()).placement == "span"
                )
                os._exit(0 if ok else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_stand_in_for_gyms_own_exception_class_is_a_failure_too(tracer):
    """A class of Gym's name is accepted wherever ours is; nothing of Gym is imported for it."""
    from pydantic import BaseModel

    class FailureEvent(BaseModel):
        event_id: str
        failure_kind: str
        boundary: str
        brand_new_field: int = 1

    class GymsNgFailureEvent(Exception):
        event_id = "gym-1"
        failure_kind = "judge_failed"
        boundary = "resources_server"

        def to_record(self) -> FailureEvent:
            return FailureEvent(
                event_id=self.event_id, failure_kind=self.failure_kind, boundary=self.boundary
            )

    GymsNgFailureEvent.__name__ = "NgFailureEvent"
    error = GymsNgFailureEvent()
    with tracer.start_as_current_span("work") as span:
        assert failgraph.record(error) == ("gym-1", "span", span.get_span_context())
        record = FailureEvent(event_id="gym-2", failure_kind="judge_failed", boundary="agent")
        assert failgraph.record(record).event_id == "gym-2"
    assert [event[semconv.BOUNDARY] for event in failure_events([span])] == [
        "resources_server",
        "agent",
    ]
    assert failgraph.stats()["record_unknown_field"] == 2
