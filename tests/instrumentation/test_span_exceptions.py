"""Failures that leave spans are recorded once, on the first span that they leave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import Span, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Status, StatusCode

import failgraph
from builders import failure
from failgraph import NgFailureEvent, hop
from failgraph.codec import decode
from failgraph.instrumentation import attach as attaching, providers
from failgraph.transport.header_encoder import encode_headers
from redaction_corpus import SECRETS
from sdk_spans import failure_events

SDK_OWN = dict(vars(Span))
KEY = "sk-" + "4f9aB27cQ1xZ8mLk" * 2


@pytest.fixture(autouse=True)
def attached():
    """Attach failgraph for each test, and detach it afterwards."""
    attaching.attach("the test", include_global=False)
    yield
    attaching.detach()


@pytest.fixture
def placed(exporter):
    """Return a function that lists (span name, kind) of each failure, in the order of span ends."""

    def read() -> list[tuple[str, str]]:
        return [
            (span.name, event.attributes["nemo.gym.failure.kind"])
            for span in exporter.get_finished_spans()
            for event in span.events
            if event.name == "nemo.gym.failure"
        ]

    return read


def test_nested_spans(tracer, placed):
    """A failure is on the inner one, which it leaves first, and not again on the outer one."""
    with (
        pytest.raises(NgFailureEvent),
        tracer.start_as_current_span("outer"),
        tracer.start_as_current_span("inner"),
    ):
        raise failure()
    assert placed() == [("inner", "judge_failed")]


def test_the_span_it_leaves_first_need_not_be_where_it_was_made(tracer, placed):
    """An exception created in the outer span is on the inner one, which it leaves first."""
    with pytest.raises(NgFailureEvent), tracer.start_as_current_span("outer"):
        made = failure()
        with tracer.start_as_current_span("inner"):
            raise made
    assert placed() == [("inner", "judge_failed")]


def test_a_span_that_is_not_made_current(tracer, placed):
    """`with start_span()` records in its own `__exit__`."""
    with pytest.raises(NgFailureEvent), tracer.start_as_current_span("outer"):
        with tracer.start_span("inner"):
            raise failure()
    assert placed() == [("inner", "judge_failed")]


@pytest.mark.parametrize("status", [True, False])
@pytest.mark.parametrize("current", [True, False])
def test_a_span_that_records_no_exceptions(tracer, placed, exporter, current, status):
    """`record_exception=False` suppresses the SDK's own event, not the failure."""
    start = tracer.start_as_current_span if current else tracer.start_span
    with pytest.raises(NgFailureEvent), tracer.start_as_current_span("outer"):
        with start("inner", record_exception=False, set_status_on_exception=status):
            raise failure()
    # With both options off, the current span tells nobody. The failure is seen when it leaves the
    # next span, and goes on a failure span below the first.
    silent = current and not status
    assert placed() == [("nemo.gym.failure" if silent else "inner", "judge_failed")]
    inner = next(span for span in exporter.get_finished_spans() if span.name == "inner")
    assert not [event for event in inner.events if event.name == "exception"]
    if silent:
        span = next(
            span for span in exporter.get_finished_spans() if span.name == "nemo.gym.failure"
        )
        assert span.parent.span_id == inner.context.span_id


def test_causes_come_before_effects(tracer, placed):
    """Explicit causes count, also through foreign exceptions. `__context__` does not."""
    with pytest.raises(NgFailureEvent), tracer.start_as_current_span("span"):
        try:
            try:
                raise failure(kind="transport_timeout")
            except NgFailureEvent as cause:
                raise ValueError("in between") from cause
        except ValueError as error:
            raise failure() from error
    assert placed() == [("span", "transport_timeout"), ("span", "judge_failed")]
    with pytest.raises(NgFailureEvent), tracer.start_as_current_span("other"):
        try:
            raise ValueError("handled")
        except ValueError:
            raise failure(kind="agent_error")  # noqa: B904 - without `from`
    assert placed()[2:] == [("other", "agent_error")]


def test_a_foreign_exception_with_a_failure_in_its_chain(tracer, placed):
    """A ValueError leaves the span, and its cause is the failure."""
    with pytest.raises(ValueError), tracer.start_as_current_span("span"):
        raise ValueError("wrapped") from failure()
    assert placed() == [("span", "judge_failed")]


def test_each_failure_of_a_chain_is_on_its_own_span(tracer, placed):
    """The cause left the inner span. Its effect was created in the outer one."""
    with pytest.raises(NgFailureEvent), tracer.start_as_current_span("outer"):
        try:
            with tracer.start_as_current_span("inner"):
                raise failure(kind="transport_timeout")
        except NgFailureEvent as cause:
            raise failure() from cause
    assert placed() == [("inner", "transport_timeout"), ("outer", "judge_failed")]


def test_a_failure_without_a_boundary_is_counted_once(tracer, placed):
    """It is counted once, however many spans it leaves."""
    made = NgFailureEvent("judge_failed")
    with (
        pytest.raises(NgFailureEvent),
        tracer.start_as_current_span("outer"),
        tracer.start_as_current_span("inner"),
    ):
        raise made
    assert placed() == []
    assert failgraph.stats()["no_boundary"] == 1


def test_foreign_exceptions_are_no_failures(tracer, placed):
    """An exception without a failure in its chain is left to the SDK."""
    with pytest.raises(ValueError), tracer.start_as_current_span("span"):
        raise ValueError("no failure")
    assert placed() == []


def test_a_class_of_gyms_own(tracer, placed):
    """Gym's `NgFailureEvent` is known by its name. This is a fake: no released Gym has one."""

    class Record:
        event_id, boundary = "gym-1", "agent"

    fields = {
        "event_id": "gym-1",
        "boundary": "agent",
        "failure_kind": "agent_error",
        "failure_reason": KEY,
    }
    gym = type("NgFailureEvent", (Exception,), {**fields, "to_record": lambda self: None})
    with (
        pytest.raises(gym),
        tracer.start_as_current_span("outer"),
        tracer.start_as_current_span("inner"),
    ):
        raise gym("no")
    assert placed() == [("inner", "agent_error")]


def test_async_code(tracer, placed):
    """Each of two concurrent tasks has its failure on its own span."""

    async def fail(name: str) -> None:
        with tracer.start_as_current_span(name):
            await asyncio.sleep(0)
            raise failure(kind=f"{name}_failed")

    async def main() -> None:
        with tracer.start_as_current_span("outer"):
            await asyncio.gather(fail("one"), fail("two"), return_exceptions=True)

    asyncio.run(main())
    assert sorted(placed()) == [("one", "one_failed"), ("two", "two_failed")]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="task groups came with Python 3.11")
def test_task_groups(tracer, placed):
    """A member is on its task's span. The group that leaves the outer span adds nothing."""

    async def fail(name: str) -> None:
        with tracer.start_as_current_span(name):
            raise failure(kind=f"{name}_failed")

    async def main() -> None:
        with tracer.start_as_current_span("outer"):
            async with asyncio.TaskGroup() as group:
                group.create_task(fail("one"))
                group.create_task(fail("two"))

    with pytest.raises(BaseException) as raised:
        asyncio.run(main())
    assert type(raised.value).__name__ == "ExceptionGroup"
    assert sorted(placed()) == [("one", "one_failed"), ("two", "two_failed")]


def test_a_generator_that_is_closed_early(tracer, placed):
    """`GeneratorExit` is not a failure, and closing raises nothing."""

    def numbers():
        with tracer.start_as_current_span("generator"):
            yield 1
            yield 2

    generator = numbers()
    assert next(generator) == 1
    generator.close()
    assert placed() == []


def test_a_handled_error_that_is_recorded_by_hand(tracer, placed, exporter):
    """`record_exception` in a handler records the failure. The status stays unset."""
    with tracer.start_as_current_span("span") as span:
        try:
            raise failure()
        except NgFailureEvent as error:
            span.record_exception(error)
            span.record_exception(error)
    assert placed() == [("span", "judge_failed")]
    assert exporter.get_finished_spans()[0].status.status_code is StatusCode.UNSET


def test_a_status_that_is_set_for_another_span_moves_no_failure(tracer, placed):
    """Setting an error status on another span while a failure is handled does not move it there."""
    with tracer.start_as_current_span("outer"):
        try:
            raise failure()
        except NgFailureEvent:
            with tracer.start_as_current_span("clean-up") as span:
                span.set_status(StatusCode.ERROR, "for a reason of its own")
    assert placed() == [("outer", "judge_failed")]


def test_a_status_inside_a_hop_ignores_the_exception_handled_around_it(tracer, exporter):
    """A failure that is handled around a hop is not one of the hop's own."""
    made = failure()
    with tracer.start_as_current_span("request"):
        try:
            raise made
        except NgFailureEvent:
            with hop(), tracer.start_as_current_span("other") as span:
                span.set_status(StatusCode.ERROR)
                assert not failgraph.current_report().events


def test_what_leaves_a_hop_too_is_recorded_once(tracer, placed, exporter):
    """The hook and the hop both see it. The hop knows it as its own failure."""
    with pytest.raises(NgFailureEvent), tracer.start_as_current_span("request"), hop():
        with tracer.start_as_current_span("work"):
            raise failure()
    assert placed() == [("work", "judge_failed")]
    request = exporter.get_finished_spans()[-1]
    assert request.attributes["nemo.gym.failure.report.count"] == 1
    assert "nemo.gym.failure.report.id" in request.attributes


def test_an_unsampled_span_and_an_ended_one(make_provider, placed, exporter):
    """Neither takes an event, and neither raises."""
    tracer = make_provider(sampler=ALWAYS_OFF).get_tracer("test")
    with pytest.raises(NgFailureEvent), tracer.start_as_current_span("unsampled"):
        raise failure()
    span = make_provider().get_tracer("test").start_span("ended")
    span.end()
    span.record_exception(failure())
    assert placed() == []


def test_turned_off(tracer, placed, setting):
    """With `FAILGRAPH_ENABLED=false` set after attaching, nothing is recorded."""
    setting("ENABLED", "false")
    with pytest.raises(NgFailureEvent), tracer.start_as_current_span("span"):
        raise failure()
    assert placed() == []


# --- what the SDK writes


def texts(span) -> str:
    """Return all text on a span."""
    events = [str(dict(event.attributes)) for event in span.events]
    return "\n".join([span.name, str(span.status.description), *events, str(dict(span.attributes))])


@pytest.mark.parametrize(
    "error",
    [
        lambda: failure(failure_reason=f"refused: {KEY}"),
        lambda: RuntimeError(f"refused: {KEY}"),
        lambda: ValueError("no secret in the effect"),
    ],
)
def test_secrets_in_what_the_sdk_writes(tracer, exporter, error):
    """Message, stack trace with all causes and status are redacted, for any exception."""
    with (
        pytest.raises((NgFailureEvent, RuntimeError, ValueError)),
        tracer.start_as_current_span("span"),
    ):
        raise error() from KeyError(f"cause with {KEY}")
    span = exporter.get_finished_spans()[0]
    assert KEY not in texts(span)
    exception = next(event for event in span.events if event.name == "exception")
    assert "[redacted:api_key]" in exception.attributes["exception.stacktrace"]
    assert exception.attributes["exception.type"]
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description.startswith(
        exception.attributes["exception.type"].rpartition(".")[2]
    )


@pytest.mark.parametrize(
    "put",
    [
        lambda span: span.set_status(StatusCode.ERROR, f"said {KEY}"),
        lambda span: span.set_status(StatusCode.ERROR, description=f"said {KEY}"),
        lambda span: span.set_status(Status(StatusCode.ERROR, f"said {KEY}")),
        lambda span: span.set_status(status=Status(StatusCode.ERROR, f"said {KEY}")),
    ],
)
def test_secrets_in_a_status_that_is_set_by_hand(tracer, exporter, put):
    """The description is redacted, however it is passed."""
    with tracer.start_as_current_span("span") as span:
        put(span)
    status = exporter.get_finished_spans()[0].status
    assert status == Status(StatusCode.ERROR, "said [redacted:api_key]") or (
        status.status_code is StatusCode.ERROR and status.description == "said [redacted:api_key]"
    )


@pytest.mark.slow
def test_no_secret_of_the_corpus_is_in_anything_exported(tracer, exporter):
    """As the reason of a failure, a foreign cause and a plain exception: no secret is exported."""
    for case in SECRETS:
        with contextlib.suppress(NgFailureEvent), tracer.start_as_current_span("outer"), hop():
            with tracer.start_as_current_span("inner"):
                try:
                    with tracer.start_as_current_span("call"):
                        raise RuntimeError(case.text)
                except RuntimeError as error:
                    raise failure(failure_reason=case.text) from error
        with contextlib.suppress(ValueError), tracer.start_as_current_span("plain"):
            raise ValueError(case.text)
    spans = exporter.get_finished_spans()
    assert len(spans) == 4 * len(SECRETS)
    for number, case in enumerate(SECRETS):
        mine = spans[4 * number : 4 * number + 4]
        report, _ = decode(failure_events(mine))
        assert len(report.events) == 1
        encoded = encode_headers(report, {}, 60_000)
        exported = "\n".join([*map(texts, mine), repr(json.loads(encoded.report_value))])
        assert not [secret for secret in case.secrets if secret in exported], case.label


def test_what_the_caller_passes_with_an_exception_takes_precedence(tracer, exporter):
    """Attributes, timestamp and `escaped` are kept; texts under the SDK's own keys are redacted."""
    with tracer.start_as_current_span("span") as span:
        given = {"exception.message": f"mine, {KEY}", "mine": 1}
        span.record_exception(ValueError("no"), given, timestamp=5, escaped=True)
        span.record_exception(exception=ValueError("no"), attributes=None)
    first, second = exporter.get_finished_spans()[0].events
    assert first.attributes["exception.message"] == "mine, [redacted:api_key]"
    assert (first.attributes["mine"], first.timestamp, first.attributes["exception.escaped"]) == (
        1,
        5,
        "True",
    )
    assert second.attributes["exception.message"] == "no"


def test_a_lone_surrogate_costs_no_batch(tracer, exporter):
    """In a status it would lose every span of its batch. It is escaped instead."""
    with pytest.raises(OSError), tracer.start_as_current_span("span"):
        raise OSError("no such file: caf\udce9")
    span = exporter.get_finished_spans()[0]
    texts(span).encode()
    assert "caf\\udce9" in span.status.description


def test_a_long_text_is_bounded(tracer, exporter):
    """A message of megabytes neither delays the program nor loses the batch."""
    with pytest.raises(ValueError), tracer.start_as_current_span("span"):
        raise ValueError("word " * 1_000_000 + KEY)
    span = exporter.get_finished_spans()[0]
    assert len(texts(span)) < 250_000


def test_without_redaction_the_sdk_is_left_alone(tracer, exporter, setting):
    """With `FAILGRAPH_REDACT=false` texts are unchanged."""
    setting("REDACT", "false")
    with pytest.raises(ValueError), tracer.start_as_current_span("span"):
        raise ValueError(KEY)
    assert texts(exporter.get_finished_spans()[0]).count(KEY) == 3  # message, stack trace, status


def test_without_reasons_only_kinds_and_frames_remain(tracer, exporter, setting):
    """With `FAILGRAPH_REDACT=all` the SDK's event has no text of any exception either."""
    setting("REDACT", "all")
    with pytest.raises(NgFailureEvent), tracer.start_as_current_span("span"):
        raise failure(
            failure_reason="private words", details={"provider_status_reason": "private"}
        ) from ValueError("private as well")
    with pytest.raises(ValueError), tracer.start_as_current_span("other") as other:
        given = {"exception.message": "private words", "mine": 1}
        other.record_exception(error := ValueError("private"), attributes=given)
        raise error
    span, other = exporter.get_finished_spans()
    assert "private" not in texts(span)
    exception = next(event for event in span.events if event.name == "exception")
    assert "test_span_exceptions.py" in exception.attributes["exception.stacktrace"]
    assert span.status.description == "NgFailureEvent"
    assert "private" not in texts(other)
    assert other.status.description == "ValueError"
    assert other.events[0].attributes["mine"] == 1


def test_wrong_arguments_are_left_to_the_sdk(tracer):
    """They raise what they would raise without failgraph."""
    with tracer.start_as_current_span("span") as span:
        with pytest.raises(TypeError):
            span.record_exception()
        with pytest.raises(TypeError):
            span.set_status()


# --- attaching and detaching


def test_detaching_removes_only_failgraphs_wrapper(tracer):
    """A wrapper that somebody put around it stays, and works."""
    calls = []
    ours = vars(Span)["record_exception"]

    def theirs(self, *args, **kwargs):
        calls.append(args)
        return ours.__get__(self)(*args, **kwargs)

    Span.record_exception = theirs
    try:
        attaching.detach()
        assert vars(Span)["record_exception"] is theirs
        assert vars(Span)["set_status"] is SDK_OWN["set_status"]
        assert vars(Span)["__exit__"] is SDK_OWN["__exit__"]
        with pytest.raises(NgFailureEvent), tracer.start_as_current_span("span"):
            raise failure()
        assert len(calls) == 1
        assert not set(failgraph.stats()) - {"swallowed"}  # which other tests may leave behind
    finally:
        Span.record_exception = ours.__wrapped__


def test_attaching_is_idempotent_and_comes_back(make_provider, exporter):
    """Attaching twice is like once. Attaching after detaching reaches new providers again."""
    attaching.attach("again", include_global=False)
    provider = TracerProvider(shutdown_on_exit=False)
    assert (
        sum(p is providers.processor() for p in provider._active_span_processor._span_processors)
        == 1
    )
    attaching.detach()
    attaching.detach()
    assert "__wrapped__" not in vars(TracerProvider)["__init__"].__dict__
    assert TracerProvider(shutdown_on_exit=False)._active_span_processor._span_processors == ()
    attaching.attach("once more", include_global=False)
    provider = TracerProvider(shutdown_on_exit=False)
    assert provider._active_span_processor._span_processors == (providers.processor(),)


def test_failure_spans_have_no_processor_of_their_own(tracer, setting, exporter):
    """Their providers share the pipeline of the span, to which nothing is added."""
    setting("EVENTS", "failure_span")
    processor = None
    for _ in range(3):
        with pytest.raises(NgFailureEvent), tracer.start_as_current_span("span") as span:
            processor = span._span_processor
            raise failure()
    classes = [type(each).__name__ for each in processor._span_processors]
    assert classes.count("FailureSpanProcessor") == 2  # one from the fixture and one attached
    assert (
        len([span for span in exporter.get_finished_spans() if span.name == "nemo.gym.failure"])
        == 3
    )


def test_a_provider_that_is_handed_over(exporter):
    """`instrument(tracer_provider=…)` reaches a provider that is not the global one."""
    attaching.detach()
    provider = TracerProvider(shutdown_on_exit=False)
    attaching.attach("the test", provider=provider, include_global=False)
    attaching.attach("the test", provider=provider, include_global=False)
    assert provider._active_span_processor._span_processors == (providers.processor(),)


def test_an_api_without_provider_is_untouched():
    """Looking at the global provider does not set one."""
    before = trace._TRACER_PROVIDER
    attaching.detach()
    attaching.attach("the test")
    assert trace._TRACER_PROVIDER is before
