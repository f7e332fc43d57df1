"""Measure what reading costs: files of OTLP, rebuilt reports, memory."""

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
reading = read(sys.argv[1])
failures = sum(len(trace.failures) for trace in reading.traces)
print(time.process_time() - start, peak() - before, failures)
"""


def list_file(path: Path) -> None:
    """Run `failgraph list` without output."""
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        assert main(["list", str(path)]) == 0


def load_lines(path: Path) -> None:
    """Do nothing but `json.loads` of every line."""
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def decode_with_opentelemetry(path: Path) -> None:
    """Decode every line with OpenTelemetry's own decoder."""
    from opentelemetry.proto_json.trace.v1.trace import TracesData

    with path.open("rb") as file:
        for line in file:
            TracesData.from_json(line)


def parse_and_touch(path: Path) -> None:
    """Parse every message, and look at the ids and times of each span."""
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


def read_in_child(path: Path) -> tuple[float, int, int]:
    """Read a file in a process of its own.

    Returns:
        CPU time in seconds, peak memory in bytes, and the number of failures.
    """
    out = subprocess.run(
        [sys.executable, "-c", _READ, str(path)], check=True, capture_output=True, text=True
    ).stdout
    seconds, memory, failures = out.split()
    return float(seconds), int(memory), int(failures)


def rows(scale: Scale) -> Iterator[Row]:
    """Yield each row as soon as it is measured."""
    with tempfile.TemporaryDirectory(prefix="failgraph-bench-") as folder:
        yield from _files(Path(folder), scale)
        yield _memory(Path(folder) / "events.jsonl", scale)
    yield _rebuilding(scale)


def _files(folder: Path, scale: Scale) -> Iterator[Row]:
    def row(work: str, against: str, goal: float, path: Path, other: Callable[[Path], None]) -> Row:
        times = pairs(lambda: list_file(path), lambda: other(path), scale.repeats)
        cost = sorted(times[0])[scale.repeats // 2] / scale.spans * 1e6
        return Row("read", work, against, ratios(times), goal, cost_us=cost, each="span")

    many = json_lines(folder / "many.jsonl", spans(scale.spans))
    yield row(
        "`list`, OTLP JSON, 512 spans a line, 1 % failing",
        "`json.loads` of every line",
        0.8,
        many,
        load_lines,
    )
    if find_spec("opentelemetry.proto_json") is not None:
        yield row("the same", "OpenTelemetry's JSON decoder", 0.2, many, decode_with_opentelemetry)
    many.unlink()
    one = json_lines(folder / "one.jsonl", spans(scale.spans), a_line=1)
    yield row(
        "`list`, OTLP JSON, one span a line", "`json.loads` of every line", 0.4, one, load_lines
    )
    one.unlink()
    binary = framed(folder / "many.binpb", spans(scale.spans))
    yield row(
        "`list`, OTLP protobuf, 512 spans a message",
        "parse, touch ids and times",
        1.5,
        binary,
        parse_and_touch,
    )
    binary.unlink()


def _memory(path: Path, scale: Scale) -> Row:
    """Measure the memory for traces of five spans with two failures each."""
    count = scale.events
    failing_spans = (
        span(number, *(usual().model_copy(update={"cause_id": None}) for _ in range(2)))
        for number in range(count // 2)
    )
    json_lines(path, failing_spans)
    size = path.stat().st_size
    _, used, failures = read_in_child(path)
    assert failures == count, f"read {failures} of {count} failures"
    work = f"memory for {count:,} failures read"
    return Row("read", work, "their bytes on the wire (JSON)", (used / size,), 1.5, cost_us=None)


def _rebuilding(scale: Scale) -> Row:
    """Measure rebuilding a report that is one chain of causes."""
    sizes = [size for size in _SIZES if size <= scale.events]
    seconds = []
    for size in sizes:
        events, before = {}, None
        for _ in range(size):
            event = usual().model_copy(update={"cause_id": before})
            events[event.event_id], before = event, event.event_id
        events_attributes, span_attributes = encode_report(
            FailureReport.model_construct(events=events, failure_id=before, omitted=False)
        )
        times = []
        for _ in range(max(1, min(scale.repeats, 30_000 // size))):
            start = time.thread_time()
            report, losses = decode(events_attributes, span_attributes)
            times.append(time.thread_time() - start)
            assert len(report.events) == size
            assert not losses
        seconds.append(sorted(times)[len(times) // 2])
    work = f"rebuilding a report of N failures, N from 10 to {sizes[-1]:,}"
    cost = seconds[-1] / sizes[-1] * 1e6
    return Row("read", work, "N", (exponent(sizes, seconds),), 1.05, "exponent", cost, "failure")
