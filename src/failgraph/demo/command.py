"""The command: run the fleet, join what its processes have written, read that back, and show it."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec

from failgraph.demo.fleet import COLLECTOR, SERVERS, fleet
from failgraph.demo.rollouts import ROLLOUTS
from failgraph.otlp import ENDPOINTS, PROTOCOLS, OtlpEndpoint, endpoint_from_env, is_listening
from failgraph.readers import Trace, read, spans
from failgraph.semconv import ROLLOUT_ID
from failgraph.settings import current
from failgraph.text import sanitize
from failgraph.view.lines import format_duration
from failgraph.view.trace_urls import grafana_trace_url, jaeger_trace_url

_NEEDED = (
    "fastapi",
    "uvicorn",
    "httpx",
    "opentelemetry.exporter.otlp.json.file",
    "opentelemetry.instrumentation.fastapi",
    "opentelemetry.instrumentation.httpx",
)
_MOST_S = 60.0
"""How long all rollouts may take, with the start of the fleet."""


def check() -> None:
    """Raise ImportError where a part of `failgraph[demo]` is missing: here, not in five processes."""
    for module in _NEEDED:
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def run(out: str | None, draw: Callable[[Sequence[Trace]], None]) -> int:
    """Run all rollouts, write their traces to `out`, read it back and `draw` the failure graphs; the exit code."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        print(
            "failgraph: OTEL_SDK_DISABLED=true turns tracing off; unset it for the demo",
            file=sys.stderr,
        )
        return 2
    endpoint = _endpoint()
    if endpoint is not None and not is_listening(endpoint):
        print(
            f"failgraph: nothing listens at {endpoint.address}, which {endpoint.named_by} names",
            file=sys.stderr,
        )
        return 2
    path = os.path.join(".", out) if out else _temporary()
    made = not out or not os.path.exists(path)
    try:
        with open(path, "a") as file:
            if file.tell():
                raise FileExistsError(errno.EEXIST, "it is there already; name a new file")
    except OSError as error:
        print(f"failgraph: {sanitize(path)} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    kept = done = False
    # Its end is then as orderly as by Ctrl-C.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        done = _collect(path, endpoint)
        if os.path.getsize(path):
            _print(path, draw, endpoint)
            kept = endpoint is None or out is not None
            if kept:
                command = "failgraph" if shutil.which("failgraph") else sys.argv[0]
                print(f"\nthe traces are in {path}; again: {command} show {path}")
    finally:
        signal.signal(signal.SIGTERM, before)
        if made and not kept:
            os.unlink(path)
    return 0 if done else 1


def _endpoint() -> OtlpEndpoint | None:
    """Where the environment sends traces; None where it names no endpoint. Raises ConfigError."""
    return (
        endpoint_from_env(os.environ)
        if any(os.environ.get(name, "").strip() for name in ENDPOINTS)
        else None
    )


def _temporary() -> str:
    handle, path = tempfile.mkstemp(prefix="failgraph-demo-", suffix=".jsonl")
    os.close(handle)
    return path


def _collect(path: str, endpoint: OtlpEndpoint | None) -> bool:
    """Run the rollouts, say what they got, and write the spans of all processes to `path`; whether it worked.

    They are sent to `endpoint` too; that some did not arrive there is said, and did not work.
    """
    with tempfile.TemporaryDirectory(prefix="failgraph-demo-") as folder:
        servers = ", ".join(SERVERS)
        print(
            f"{len(ROLLOUTS)} rollouts at once, by a {COLLECTOR} and four servers: {servers}\n",
            flush=True,
        )
        with fleet(folder, exports=endpoint is not None) as collector:
            try:
                answers, _ = collector.communicate(timeout=_MOST_S)
            except subprocess.TimeoutExpired:
                print(
                    f"failgraph: the demo's rollouts did not end within {_MOST_S:g} s",
                    file=sys.stderr,
                )
                return False
        if collector.returncode != 0:
            print(
                f"failgraph: the demo's collector ended with {collector.returncode}",
                file=sys.stderr,
            )
            return False
        print(f"what the {COLLECTOR} got:\n{answers}", flush=True)
        with open(path, "ab") as joined:
            for name in (COLLECTOR, *SERVERS):
                with open(os.path.join(folder, f"{name}.jsonl"), "rb") as part:
                    shutil.copyfileobj(part, joined)
        return endpoint is None or _all_arrived(folder, endpoint)


def _all_arrived(folder: str, endpoint: OtlpEndpoint) -> bool:
    """Whether no process has noted spans that it could not export; says those that have."""
    refused = [
        name
        for name in (COLLECTOR, *SERVERS)
        if os.path.exists(os.path.join(folder, f"{name}.refused"))
    ]
    if refused:
        print(
            f"failgraph: spans of {', '.join(refused)} did not arrive at {endpoint.address} by {endpoint.protocol};"
            f" {PROTOCOLS[1]} chooses another protocol",
            file=sys.stderr,
        )
    return not refused


def _print(
    path: str, draw: Callable[[Sequence[Trace]], None], endpoint: OtlpEndpoint | None
) -> None:
    reading = read(path)
    draw(reading.traces)
    failing = {trace.trace_id for trace in reading.traces}
    for span in spans(path):
        if span.trace_id not in failing and span.parent_span_id is None:
            rollout = span.attributes.get(ROLLOUT_ID)
            print(
                f"trace {span.trace_id} · rollout {rollout} · {format_duration(span.duration_nano)} · no failures"
            )
    print(f"\n{len(failing)} of {reading.trace_count} rollouts have failures")
    if endpoint is not None:
        print(f"their traces were sent to {endpoint.address}:")
        for trace in reading.traces:
            print(f"  {''.join(trace.rollout_ids[:1])}", *_pages(trace.trace_id), sep="\n    ")


def _pages(trace_id: str) -> Iterator[str]:
    settings = current()
    yield jaeger_trace_url(settings.jaeger_url, trace_id)
    if settings.grafana_url is not None:
        yield grafana_trace_url(settings.grafana_url, trace_id)
