"""Measure how costs grow: with failures of a trace, concurrent requests, and traces of a file."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import failgraph
from bench import serving
from bench.files import json_lines, spans
from bench.measure import Row, Scale, pairs, ratios
from bench.reading import read_in_child
from bench.running import provider, usual


def rows(scale: Scale) -> Iterator[Row]:
    """Yield each row as soon as it is measured."""
    yield from _failures(scale)
    if find_spec("fastapi") is not None:
        ours, plain = serving.with_and_without()
        for at_once in (1, 10, 100):
            times = pairs(
                lambda: ours(at_once),  # noqa: B023
                lambda: plain(at_once),  # noqa: B023
                scale.repeats,
                clock=lambda run: run(),
            )
            cost = sorted(times[0])[scale.repeats // 2] / serving._REQUESTS * 1e6
            work = f"{at_once} concurrent request{'s' if at_once > 1 else ''} without failures"
            yield Row(
                "growth", work, "without failgraph", ratios(times), cost_us=cost, each="request"
            )
    with tempfile.TemporaryDirectory(prefix="failgraph-bench-") as folder:
        for traces in (1_000, 10_000, 100_000, 1_000_000):
            if traces <= scale.events:
                yield _traces(Path(folder) / "traces.jsonl", traces)


def _failures(scale: Scale) -> Iterator[Row]:
    """Yield the cost of a failure in traces of one hop with more and more failures."""
    tracer = provider(with_failgraph=True).get_tracer("bench")
    for count in (1, 10, 100, 1_000):
        seconds = []
        for _ in range(scale.repeats):
            events = [usual().model_copy(update={"cause_id": None}) for _ in range(count)]
            with tracer.start_as_current_span("rollout"):
                start = time.thread_time()
                with failgraph.hop():
                    for event in events:
                        failgraph.record(event)
                seconds.append(time.thread_time() - start)
        per = sorted(seconds)[len(seconds) // 2] / count * 1e6
        work = f"{count:,} failure{'s' if count > 1 else ''} on one span, in a hop"
        yield Row("growth", work, "each failure", (per,), None, "µs", per, "failure")


def _traces(path: Path, traces: int) -> Row:
    json_lines(path, spans(traces, of=1))
    seconds, memory, _ = read_in_child(path)
    work = f"reading a file of {traces:,} traces, 1 % failing"
    against = f"each trace; {memory / traces:,.0f} bytes of memory a trace"
    return Row("growth", work, against, (seconds / traces * 1e6,), None, "µs", None, "trace")
