"""Measure what a program pays: spans that do not fail, recorded failures, passing exceptions."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec

from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import failgraph
from bench.measure import Row, Scale, pairs, ratios, setting
from failgraph import FailureEvent, NgFailureEvent
from failgraph.codec import encode_event
from failgraph.instrumentation.attach import attach, detach

Failing = Callable[[int], object]

_TRACES = 200
# Spans, and events on each, of the rows that record ready events; failgraph puts at most 64 on one.
_SPANS, _EVENTS = 50, 10
_ids = itertools.count()


class Discard(SpanExporter):
    """Takes all spans and keeps none."""

    def export(self, spans) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def provider(*, with_failgraph: bool, before: SpanProcessor | None = None) -> TracerProvider:
    """Return a provider that exports in batches; `before` is a processor ahead of the exporter."""
    made = TracerProvider(shutdown_on_exit=False)
    if with_failgraph:
        before = failgraph.FailureSpanProcessor()
    if before is not None:
        made.add_span_processor(before)
    made.add_span_processor(BatchSpanProcessor(Discard()))
    return made


def traces(tracer: trace.Tracer, failing: Failing | None = None, *, hops: bool = False) -> None:
    """Make traces of a root and four children; `failing` gets the number of each child."""
    for number in range(_TRACES):
        with tracer.start_as_current_span("rollout"):
            if hops:
                with failgraph.hop():
                    _children(tracer, number, failing)
            else:
                _children(tracer, number, failing)


def _children(tracer: trace.Tracer, number: int, failing: Failing | None) -> None:
    for child in range(4):
        with tracer.start_as_current_span("work"):
            if failing is not None:
                failing(number * 4 + child)


def each(step: int) -> Failing:
    """Return a function that records a failure in one child of each `step`."""

    def failing(number: int) -> None:
        if number % step == 0:
            own = next(_ids)
            reason = (
                f"the model did not answer call {own} within 30 s (attempt 2 of 3, server judge-7)"
            )
            event = FailureEvent(
                event_id=f"failure-{own}",
                boundary="model",
                failure_kind="transport_timeout",
                failure_reason=reason,
            )
            failgraph.record(event)

    return failing


def raised(number: int) -> None:
    """Record a failure that was made as an exception."""
    failgraph.record(
        NgFailureEvent(
            "transport_timeout", "the model did not answer within 30 s", boundary="model"
        )
    )


def usual() -> FailureEvent:
    """Return a ready event with the fields that failures of a model usually have."""
    number = next(_ids)
    return FailureEvent(
        event_id=f"failure-{number}",
        boundary="model",
        failure_kind="provider_unavailable",
        failure_reason=f"the model answered 503 to call {number} after 3 attempts: "
        "upstream connect error or reset",
        stage="agent",
        cause_id="failure-of-before",
        operation="POST /v1/responses",
        operation_id="resp-7f3c21",
        attempt_id="attempt-2",
        exception_type="InternalServerError",
        http_status=503,
        foreign_error={
            "exception_type": "HTTPStatusError",
            "message": f"503 Service Unavailable, call {number}",
        },
    )


def timed(tracer: trace.Tracer, put: Callable[[trace.Span, FailureEvent], object]) -> float:
    """Return the seconds of `put` for all events; spans and events are made before."""
    work = [(tracer.start_span("work"), [usual() for _ in range(_EVENTS)]) for _ in range(_SPANS)]
    seconds = 0.0
    for span, events in work:
        with trace.use_span(span, end_on_exit=True):
            start = time.thread_time()
            for event in events:
                put(span, event)
            seconds += time.thread_time() - start
    return seconds


def _recorded(tracer: trace.Tracer) -> Callable[[], float]:
    return lambda: timed(tracer, lambda _, event: failgraph.record(event))


def _by_hand(tracer: trace.Tracer) -> Callable[[], float]:
    ready = encode_event(usual(), seq=0)
    return lambda: timed(tracer, lambda span, _: span.add_event("nemo.gym.failure", ready))


def _exceptions(tracer: trace.Tracer) -> Callable[[], float]:
    error = deep(10)
    return lambda: timed(tracer, lambda span, _: span.record_exception(error))


def deep(frames: int) -> Exception:
    """Return an exception with a traceback of so many frames."""

    def fall(left: int) -> None:
        if left > 1:
            fall(left - 1)
        raise ValueError("no answer within 30 s")

    try:
        fall(frames)
    except ValueError as error:
        return error
    raise AssertionError


def leaving(tracer: trace.Tracer) -> None:
    """Let exceptions that are not failures leave spans."""
    for _ in range(_TRACES):
        try:
            with tracer.start_as_current_span("span"):
                raise ValueError("no answer")
        except ValueError:
            pass


def rows(scale: Scale) -> Iterator[Row]:
    """Yield each row as soon as it is measured."""
    bare, ours = (provider(with_failgraph=which).get_tracer("bench") for which in (False, True))
    yield from _spans(bare, ours, scale)
    yield from _records(bare, ours, scale)
    attach("bench", include_global=False)
    detach()

    def hooked(run: Callable[[], object]) -> float:
        attach("bench", include_global=False)
        try:
            return _cpu_of(run)
        finally:
            detach()

    work, plain = (lambda: hooked(lambda: leaving(bare))), (lambda: _cpu_of(lambda: leaving(bare)))
    times = pairs(work, plain, scale.repeats, clock=lambda run: run())
    yield Row(
        "run", "an exception that is no failure leaves a span", "without failgraph", ratios(times)
    )


def _cpu_of(run: Callable[[], object]) -> float:
    start = time.thread_time()
    run()
    return time.thread_time() - start


def _spans(bare: trace.Tracer, ours: trace.Tracer, scale: Scale) -> Iterator[Row]:
    def row(work: str, goal: float | None, run: Callable[[], object], repeats: int) -> Row:
        times = pairs(run, lambda: traces(bare), repeats)
        cost = sorted(times[0])[repeats // 2] / _TRACES / 5 * 1e6
        return Row("run", work, "plain SDK", ratios(times), goal, cost_us=cost, each="span")

    empty = provider(with_failgraph=False, before=SpanProcessor()).get_tracer("bench")
    yield row("an empty processor in failgraph's place", None, lambda: traces(empty), scale.first)
    yield row("spans that do not fail", 1.03, lambda: traces(ours), scale.first)
    yield row("the same, each trace in a hop", None, lambda: traces(ours, hops=True), scale.first)
    yield row("1 % of child spans fail", 1.06, lambda: traces(ours, each(100)), scale.first)
    yield row("10 % fail", 1.15, lambda: traces(ours, each(10)), scale.repeats)
    yield row("all fail", 2.2, lambda: traces(ours, each(1)), scale.repeats)
    yield row(
        "all fail, each trace in a hop",
        None,
        lambda: traces(ours, each(1), hops=True),
        scale.repeats,
    )
    yield row("all fail, made as exceptions", None, lambda: traces(ours, raised), scale.repeats)


def _records(bare: trace.Tracer, ours: trace.Tracer, scale: Scale) -> Iterator[Row]:
    def row(
        work: str,
        against: str,
        goal: float | None,
        run: Callable[[], float],
        other: Callable[[], float],
    ) -> Row:
        times = pairs(run, other, scale.repeats, clock=lambda timed_work: timed_work())
        cost = sorted(times[0])[scale.repeats // 2] / _SPANS / _EVENTS * 1e6
        return Row("run", work, against, ratios(times), goal, cost_us=cost, each="failure")

    def under(run: Callable[[], float], **settings: str) -> Callable[[], float]:
        def switched() -> float:
            with setting(**settings):
                return run()

        return switched

    record, hand = _recorded(ours), _by_hand(bare)
    by_hand = "`add_event` by hand, ready attributes"
    yield row(
        "`record` of a ready event, redaction off",
        by_hand,
        1.6,
        under(record, REDACT="false"),
        hand,
    )
    yield row("`record` of a ready event, redaction on", by_hand, 2.2, record, hand)
    yield row(
        "`record` of a ready event",
        "`record_exception`, 10 frames",
        0.15,
        record,
        _exceptions(bare),
    )
    spans = under(record, EVENTS="failure_span")
    yield row("`record`, a failure span for each", "`record`", None, spans, record)
    if find_spec("failgraph.journal") is not None:
        with tempfile.TemporaryDirectory() as folder:
            lines = under(record, JOURNAL=folder)
            yield row("`record` with a journal line", "`record`", None, lines, record)
