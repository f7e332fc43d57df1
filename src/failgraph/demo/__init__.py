"""`failgraph demo`: a real rollout service on loopback, faults that really happen, and what their traces say of them.

Needs `failgraph[demo]`. No collector, no keys, no Docker.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence

from opentelemetry.exporter.otlp.json.file import FileSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from failgraph.demo.rollouts import ROLLOUTS, drive
from failgraph.demo.service import serving
from failgraph.processor import FailureSpanProcessor
from failgraph.readers import Trace, read, spans
from failgraph.semconv import ROLLOUT_ID
from failgraph.view.picture import duration


def run(out: str | None, draw: Callable[[Sequence[Trace]], None]) -> int:
    """Run all rollouts, write their traces to `out`, read it back and `draw` the failure graphs; the exit code."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        print("failgraph: OTEL_SDK_DISABLED=true turns tracing off; unset it for the demo", file=sys.stderr)
        return 2
    path = os.path.join(".", out) if out else _temporary()
    try:
        with open(path, "a") as file:
            if file.tell():
                raise FileExistsError(errno.EEXIST, "it is there already; name a new file")
    except OSError as error:
        print(f"failgraph: {path} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    # Every trace, whatever the environment says of sampling.
    provider = TracerProvider(ALWAYS_ON, Resource.create({"service.name": "failgraph-demo"}))
    provider.add_span_processor(BatchSpanProcessor(FileSpanExporter(path)))
    provider.add_span_processor(FailureSpanProcessor())
    try:
        with serving(provider) as url:
            print(f"{len(ROLLOUTS)} rollouts against {url}\n", flush=True)
            for rollout in ROLLOUTS:
                drive(rollout, url, provider)
    finally:
        provider.shutdown()
    _print(path, draw)
    return 0


def _temporary() -> str:
    handle, path = tempfile.mkstemp(prefix="failgraph-demo-", suffix=".jsonl")
    os.close(handle)
    return path


def _print(path: str, draw: Callable[[Sequence[Trace]], None]) -> None:
    reading = read(path)
    draw(reading.traces)
    failing = {trace.trace_id for trace in reading.traces}
    for span in spans(path):
        if span.trace_id not in failing and span.parent_span_id is None:
            rollout = span.attributes.get(ROLLOUT_ID)
            print(f"trace {span.trace_id} · rollout {rollout} · {duration(span.duration_nano)} · no failures")
    print(f"\n{len(failing)} of {reading.trace_count} rollouts have failures; the traces are in {path}")
    command = "failgraph" if shutil.which("failgraph") else sys.argv[0]
    print(f"again: {command} show {path}")
