"""Record millions of failures in one process, and check that memory stays flat: `make soak`.

`python tests/bench/soak.py TRACES` runs so many traces. Each has ten failures, made in every way:
recorded by hand, with causes, leaving spans, handled, deferred, from peers, on failure spans. The
exit code is 1 if memory grows or a failure is lost.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, Tracer

import failgraph
from failgraph import FailureEvent, FailureReport, NgFailureEvent
from failgraph.instrumentation import attach as attaching
from failgraph.recording.recorder import recorder

FAILURES = 10  # of a trace
WARM_UP = 0.2  # share of the run until every cache and bounded list is full
# Bytes by which memory may differ between the first and the last fifth after the warm-up.
MAX_GROWTH = 8 << 20
SECRETS_EVERY = 10  # one trace of so many has a secret in every text


class Counting(SpanExporter):
    """Counts the failure events that it takes."""

    def __init__(self) -> None:
        self.events = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.events += sum(
            event.name == "nemo.gym.failure" for span in spans for event in span.events
        )
        return SpanExportResult.SUCCESS


def failure_of(kind: str, number: int) -> NgFailureEvent:
    """Return a failure of trace `number`."""
    secret = "" if number % SECRETS_EVERY else f", token=abcdefgh{number}"
    return NgFailureEvent(kind, f"attempt {number}: no answer{secret}", boundary="model")


def trace(tracer: Tracer, number: int) -> None:
    """Make one trace with ten failures."""
    with (
        contextlib.suppress(NgFailureEvent),
        tracer.start_as_current_span("POST /run", kind=SpanKind.SERVER),
    ):
        with failgraph.hop():
            for attempt in range(2):
                with contextlib.suppress(NgFailureEvent), tracer.start_as_current_span("leaves"):
                    raise failure_of("transport_timeout", number + attempt) from TimeoutError(
                        f"{number}"
                    )
            with tracer.start_as_current_span("by hand") as span:
                failgraph.record(ValueError(f"bad {number}"), boundary="agent", kind="agent_error")
                cause, effect = failure_of("a_cause", number), failure_of("an_effect", number)
                effect.__cause__ = cause
                failgraph.record(effect)
            failgraph.record(failure_of("late", number), span=span)
            failgraph.record(failure_of("deferred", number), deferred=True)
            with failgraph.hop():
                event = FailureEvent(event_id=f"peer-{number}", failure_kind="k", boundary="model")
                recorder().record_reply(FailureReport(events={event.event_id: event}), {})
            failgraph.current_report()
            with contextlib.suppress(NgFailureEvent):
                raise failure_of("handled", number)  # not recorded: there is no request
            failgraph.record(failure_of("own", number), own=True)
            raise failure_of("escapes", number)


def memory() -> int:
    """Return the resident memory of this process, in bytes."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def slope(points: Sequence[tuple[int, int]]) -> float:
    """Return the growth in bytes a trace, by least squares."""
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def main(traces: int) -> int:
    """Run so many traces. Return 0 if memory stayed flat and no failure was lost, otherwise 1."""
    attaching.attach("soak", include_global=False)
    exporter = Counting()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=8192))
    tracer = provider.get_tracer("soak")
    points: list[tuple[int, int]] = []
    began = time.monotonic()
    for number in range(1, traces + 1):
        trace(tracer, number)
        if number % max(1, traces // 50) == 0:
            provider.force_flush()
            points.append((number, memory()))
            if len(points) % 5 == 0:
                spent = time.monotonic() - began
                print(
                    f"{number:>9} traces  {points[-1][1] / 2**20:8.1f} MiB  {spent:7.0f} s",
                    flush=True,
                )
    after = points[int(len(points) * WARM_UP) :]
    fifth = max(1, len(after) // 5)
    first, last = (
        sorted(y for _, y in part)[len(part) // 2] for part in (after[:fifth], after[-fifth:])
    )
    counts = failgraph.stats()
    per_trace = exporter.events / traces
    print(f"{exporter.events} failures exported, {per_trace:.1f} a trace; {dict(counts)}")
    print(
        f"after the warm-up: {slope(after):+.3f} bytes a trace, "
        f"{(last - first) / 2**20:+.2f} MiB from first to last fifth"
    )
    still_held = len(recorder().writer.index)
    provider.shutdown()
    attaching.detach()
    complete = exporter.events == traces * FAILURES and not counts.get("internal_error")
    print(
        "memory is flat" if last - first <= MAX_GROWTH else "MEMORY GROWS",
        "· nothing lost" if complete else "· FAILURES LOST",
        f"· traces still held: {still_held}",
    )
    return 0 if last - first <= MAX_GROWTH and complete and not still_held else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
