"""The command: run the fleet, join what its processes have written, read that back, and show it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import NamedTuple

from failgraph.demo.fleet import COLLECTOR, SERVERS, fleet, traces_file, unsent_mark
from failgraph.demo.rollouts import ROLLOUTS
from failgraph.errors import ConfigError
from failgraph.otlp import ENDPOINTS, PROTOCOLS, OtlpEndpoint, endpoint_from_env, is_listening
from failgraph.readers import Trace, read, spans
from failgraph.redaction.display import display
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
_TIMEOUT_S = 60.0  # of all rollouts, with the start of the fleet


class _OutputFile(NamedTuple):
    """An empty file for the traces.

    Attributes:
        path: Where it is.
        is_new: True if it was not there before: it is removed where nothing asks to keep it.
    """

    path: str
    is_new: bool


def check_requirements() -> None:
    """Raise ImportError where a part of `failgraph[demo]` is missing: here, not in five processes."""
    for module in _NEEDED:
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def run(out: str | None, draw: Callable[[Sequence[Trace]], None]) -> bool:
    """Run all rollouts, write their traces to `out`, read it back and `draw` the failure graphs; True if all worked.

    Raises ConfigError where the environment or `out` cannot be used.
    """
    endpoint = _endpoint()
    file = _create(out)
    keep_file = is_complete = False
    try:
        with _exit_on_sigterm():
            is_complete = _collect(file.path, endpoint)
            if os.path.getsize(file.path):
                _show(file.path, draw, endpoint)
                keep_file = endpoint is None or out is not None
                if keep_file:
                    shown = sanitize(file.path)
                    command = "failgraph" if shutil.which("failgraph") else sys.argv[0]
                    print(f"\nthe traces are in {shown}; again: {command} show {shown}")
    finally:
        if file.is_new and not keep_file:
            os.unlink(file.path)
    return is_complete


def _endpoint() -> OtlpEndpoint | None:
    """Where the environment sends traces, or None if it names no endpoint."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        raise ConfigError(["OTEL_SDK_DISABLED=true turns tracing off; unset it for the demo"])
    if not any(os.environ.get(name, "").strip() for name in ENDPOINTS):
        return None
    endpoint = endpoint_from_env(os.environ)
    if not is_listening(endpoint):
        raise ConfigError(
            [f"nothing listens at {endpoint.address}, which {endpoint.named_by} names"]
        )
    return endpoint


def _create(out: str | None) -> _OutputFile:
    """Create the file of traces, a temporary one without a name; one with content is refused."""
    if not out:
        handle, path = tempfile.mkstemp(prefix="failgraph-demo-", suffix=".jsonl")
        os.close(handle)
        return _OutputFile(path, is_new=True)
    path = os.path.join(".", out)
    is_new = not os.path.exists(path)
    try:
        with open(path, "a") as file:
            size = file.tell()
    except OSError as error:
        raise ConfigError([f"{display(path)} cannot be written: {error.strerror}"]) from error
    if size:
        raise ConfigError(
            [f"{display(path)} cannot be written: it is there already; name a new file"]
        )
    return _OutputFile(path, is_new)


@contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """End as orderly by SIGTERM as by Ctrl-C."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _collect(path: str, endpoint: OtlpEndpoint | None) -> bool:
    """Run the rollouts, say what they got, and write the spans of all processes to `path`; True if it worked.

    They are sent to `endpoint` too; that some did not arrive there is said, and did not work.
    """
    with tempfile.TemporaryDirectory(prefix="failgraph-demo-") as folder:
        servers = ", ".join(SERVERS)
        print(
            f"{len(ROLLOUTS)} rollouts at once, by a {COLLECTOR} and four servers: {servers}\n",
            flush=True,
        )
        with fleet(folder, sends_traces=endpoint is not None) as collector:
            try:
                answers, _ = collector.communicate(timeout=_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                _print_error(f"the demo's rollouts did not end within {_TIMEOUT_S:g} s")
                return False
        if collector.returncode != 0:
            _print_error(f"the demo's collector ended with {collector.returncode}")
            return False
        print(f"what the {COLLECTOR} got:\n{answers}", flush=True)
        with open(path, "ab") as joined:
            for name in (COLLECTOR, *SERVERS):
                with open(traces_file(folder, name), "rb") as part:
                    shutil.copyfileobj(part, joined)
        return endpoint is None or _all_arrived(folder, endpoint)


def _all_arrived(folder: str, endpoint: OtlpEndpoint) -> bool:
    """True if no process has noted spans that it could not export; says those that have."""
    names = (COLLECTOR, *SERVERS)
    unsent = [name for name in names if os.path.exists(unsent_mark(folder, name))]
    if unsent:
        _print_error(
            f"spans of {', '.join(unsent)} did not arrive at {endpoint.address} by {endpoint.protocol};"
            f" {PROTOCOLS[1]} chooses another protocol"
        )
    return not unsent


def _show(
    path: str, draw: Callable[[Sequence[Trace]], None], endpoint: OtlpEndpoint | None
) -> None:
    reading = read(path)
    draw(reading.traces)
    failing = {trace.trace_id for trace in reading.traces}
    for span in spans(path):
        if span.trace_id not in failing and span.parent_span_id is None:
            rollout = span.attributes.get(ROLLOUT_ID)
            duration = format_duration(span.duration_nano)
            print(f"trace {span.trace_id} · rollout {rollout} · {duration} · no failures")
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


def _print_error(text: str) -> None:
    print(f"failgraph: {text}", file=sys.stderr)
