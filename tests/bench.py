"""What failgraph costs, as ratios measured pairwise in one run: `python tests/bench.py`. Not a test."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Callable
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import failgraph
from failgraph.instrumentation.attach import attach, detach


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


def leaving(tracer) -> None:
    for _ in range(200):
        try:
            with tracer.start_as_current_span("span"):
                raise ValueError("no answer")
        except ValueError:
            pass


def requests() -> str:
    """A bare FastAPI route that traces itself and has no report to give, with the server layer and without."""
    import fastapi

    from asgi import ASKING, call

    def served() -> fastapi.FastAPI:
        app = fastapi.FastAPI(telemetry={"tracer_provider": provider(with_failgraph=False)})
        app.get("/")(lambda: "done")
        return app

    async def many(app: fastapi.FastAPI) -> None:
        for _ in range(200):
            await call(app, "/", ASKING)

    plain = served()
    asyncio.run(many(plain))
    attach("bench", look=False)
    ours = served()
    asyncio.run(many(ours))
    shares = []
    for _ in range(20):
        detach()
        without = cpu(lambda: asyncio.run(many(plain)))
        attach("bench", look=False)
        shares.append(cpu(lambda: asyncio.run(many(ours))) / without)
    detach()
    return f"{statistics.median(shares):.3f}"


def unset() -> float:
    """Seconds that the line of the start-up file takes where the variable is unset."""
    line = compile((Path(failgraph.__file__).parent.parent / "failgraph.pth").read_text(), "pth", "exec")
    return timeit.timeit(lambda: exec(line), number=1000) / 1000


def start(environ: dict[str, str]) -> float:
    """Seconds that an interpreter takes to start and end."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], env=environ, check=True)
    return time.perf_counter() - begin


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
    leave = lambda: leaving(bare)  # noqa: E731
    plain_exceptions = [cpu(leave) for _ in range(10)]
    attach("bench", look=False)
    hooked_exceptions = [cpu(leave) for _ in range(10)]
    detach()
    shares = [hooked / bare_one for hooked, bare_one in zip(hooked_exceptions, plain_exceptions, strict=True)]
    print(f"exceptions of others leave, hook / none: {statistics.median(shares):.3f}")
    print(f"a bare request, server layer / none:     {requests()}")
    print(f"start-up file, unset:                    {unset() * 1000:.4f} ms")
    off, on = ([start({"FAILGRAPH_ENABLED": said}) for _ in range(30)] for said in ("", "true"))
    print(f"start-up file, set and nothing traced:   {(statistics.median(on) - statistics.median(off)) * 1000:.1f} ms")


if __name__ == "__main__":
    main()
