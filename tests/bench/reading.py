"""What reading costs: files of OTLP, reports rebuilt, memory."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from bench.files import framed, json_lines, span, spans
from bench.measure import Row, Scale, exponent, pairs, ratios
from bench.running import usual
from failgraph import FailureReport
from failgraph.cli import main
from failgraph.codec import decode, encode_report

_SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
_READ = """
import re, sys, time
from failgraph.readers import read
peak = lambda: int(re.search("VmHWM:\\s+([0-9]+)", open("/proc/self/status").read())[1]) * 1024
before, start = peak(), time.process_time()
kept = read(sys.argv[1])
print(time.process_time() - start, peak() - before, sum(len(trace.failures) for trace in kept.traces))
"""


def listed(path: Path) -> None:
    """`failgraph list`, its output thrown away."""
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        assert main(["list", str(path)]) == 0


def loaded(path: Path) -> None:
    """`json.loads` of every line, and nothing else."""
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def decoded_by_opentelemetry(path: Path) -> None:
    """Every line to the objects of OpenTelemetry's own decoder."""
    from opentelemetry.proto_json.trace.v1.trace import TracesData

    with path.open("rb") as file:
        for line in file:
            TracesData.from_json(line)


def touched(path: Path) -> None:
    """Every message parsed; of each span the ids and the times are looked at."""
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    with path.open("rb") as file:
        while size := file.read(4):
            message = TracesData.FromString(file.read(int.from_bytes(size, "big")))
            for resource_spans in message.resource_spans:
                for scope_spans in resource_spans.scope_spans:
                    for each in scope_spans.spans:
                        _ = (
                            each.trace_id,
                            each.span_id,
                            each.start_time_unix_nano,
                            each.end_time_unix_nano,
                        )


def read_apart(path: Path) -> tuple[float, int, int]:
    """A file read in a process of its own: seconds of CPU time, bytes of memory at the peak, failures found."""
    out = subprocess.run(
        [sys.executable, "-c", _READ, str(path)], check=True, capture_output=True, text=True
    ).stdout
    seconds, memory, failures = out.split()
    return float(seconds), int(memory), int(failures)


def rows(scale: Scale) -> Iterator[Row]:
    """Each row when it is measured."""
    with tempfile.TemporaryDirectory(prefix="failgraph-bench-") as folder:
        yield from _files(Path(folder), scale)
        yield _memory(Path(folder) / "events.jsonl", scale)
    yield _rebuilding(scale)


def _files(folder: Path, scale: Scale) -> Iterator[Row]:
    def row(work: str, against: str, goal: float, path: Path, other: Callable[[Path], None]) -> Row:
        times = pairs(lambda: listed(path), lambda: other(path), scale.repeats)
        cost = sorted(times[0])[scale.repeats // 2] / scale.spans * 1e6
        return Row("read", work, against, ratios(times), goal, cost_us=cost, each="span")

    many = json_lines(folder / "many.jsonl", spans(scale.spans))
    yield row(
        "`list`, OTLP JSON, 512 spans a line, 1 % failing",
        "`json.loads` of every line",
        0.8,
        many,
        loaded,
    )
    if find_spec("opentelemetry.proto_json") is not None:
        yield row("the same", "OpenTelemetry's JSON decoder", 0.2, many, decoded_by_opentelemetry)
    many.unlink()
    one = json_lines(folder / "one.jsonl", spans(scale.spans), a_line=1)
    yield row("`list`, OTLP JSON, one span a line", "`json.loads` of every line", 0.4, one, loaded)
    one.unlink()
    binary = framed(folder / "many.binpb", spans(scale.spans))
    yield row(
        "`list`, OTLP protobuf, 512 spans a message",
        "parse, touch ids and times",
        1.5,
        binary,
        touched,
    )
    binary.unlink()


def _memory(path: Path, scale: Scale) -> Row:
    """Traces of five spans, with two failures on each."""
    count = scale.events
    happened = (
        span(number, *(usual().model_copy(update={"cause_id": None}) for _ in range(2)))
        for number in range(count // 2)
    )
    json_lines(path, happened)
    size = path.stat().st_size
    _, used, found = read_apart(path)
    assert found == count, f"{found} of {count} were read"
    work = f"memory for {count:,} failures read"
    return Row("read", work, "their bytes on the wire (JSON)", (used / size,), 1.5, cost_us=None)


def _rebuilding(scale: Scale) -> Row:
    """A chain: each failure is the effect of the one before."""
    sizes = [size for size in _SIZES if size <= scale.events]
    seconds = []
    for size in sizes:
        events, before = {}, None
        for _ in range(size):
            event = usual().model_copy(update={"cause_id": before})
            events[event.event_id], before = event, event.event_id
        attributes, of_span = encode_report(
            FailureReport.model_construct(events=events, failure_id=before, omitted=False)
        )
        best = []
        for _ in range(max(1, min(scale.repeats, 30_000 // size))):
            start = time.thread_time()
            report, losses = decode(attributes, of_span)
            best.append(time.thread_time() - start)
            assert len(report.events) == size
            assert not losses
        seconds.append(sorted(best)[len(best) // 2])
    work = f"rebuilding a report of N failures, N from 10 to {sizes[-1]:,}"
    cost = seconds[-1] / sizes[-1] * 1e6
    return Row("read", work, "N", (exponent(sizes, seconds),), 1.05, "exponent", cost, "failure")
