"""What failgraph costs, as ratios measured pairwise in one run: `python tests/bench.py`. Not a test."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import failgraph


class Nowhere(SpanExporter):
    """Takes everything and keeps nothing."""

    def export(self, spans) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def provider(*, with_failgraph: bool) -> TracerProvider:
    made = TracerProvider(shutdown_on_exit=False)
    if with_failgraph:
        made.add_span_processor(failgraph.FailureSpanProcessor())
    made.add_span_processor(BatchSpanProcessor(Nowhere()))
    return made


def rollouts(tracer, failing: Callable[[int], None] | None, *, hops: bool) -> None:
    for number in range(200):
        with tracer.start_as_current_span("rollout"):
            if hops:
                with failgraph.hop():
                    work(tracer, number, failing)
            else:
                work(tracer, number, failing)


def work(tracer, number: int, failing: Callable[[int], None] | None) -> None:
    for child in range(4):
        with tracer.start_as_current_span("work"):
            if failing is not None:
                failing(number * 4 + child)


def by_hand(number: int) -> None:
    from opentelemetry import trace

    keys = ("id", "boundary", "kind", "reason", "seq", "bytes", "type", "status")
    trace.get_current_span().add_event("failure", dict.fromkeys(keys, "a value of some length"))


def recorded(number: int) -> None:
    failgraph.record(failgraph.NgFailureEvent("transport_timeout", "no answer", boundary="model"))


def cpu(run: Callable[[], None]) -> float:
    start = time.thread_time()
    run()
    return time.thread_time() - start


def ratio(one: Callable[[], None], other: Callable[[], None], repeats: int = 40) -> str:
    pairs = []
    for turn in range(repeats):
        first, second = (one, other) if turn % 2 else (other, one)
        times = (cpu(first), cpu(second))
        pairs.append(times[0] / times[1] if turn % 2 else times[1] / times[0])
    return f"{statistics.median(pairs):.3f}"


def main() -> None:
    bare, ours = (provider(with_failgraph=each).get_tracer("bench") for each in (False, True))
    plain = lambda: rollouts(bare, None, hops=False)  # noqa: E731
    print("no failures, processor / none:          ", ratio(lambda: rollouts(ours, None, hops=False), plain))
    print("no failures, processor and hop / none:  ", ratio(lambda: rollouts(ours, None, hops=True), plain))
    some = lambda number: recorded(number) if number % 100 == 0 else None  # noqa: E731
    print("1 % of spans fail / no failures at all: ", ratio(lambda: rollouts(ours, some, hops=True), plain))
    hand = lambda: rollouts(bare, by_hand, hops=False)  # noqa: E731
    print("every span fails / add_event by hand:   ", ratio(lambda: rollouts(ours, recorded, hops=True), hand, 10))


if __name__ == "__main__":
    main()
