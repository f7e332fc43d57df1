"""The command: runs the fleet, joins the traces of its processes, and shows them."""

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
from failgraph.errors import ConfigError, SourceError, reason_of
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
_TIMEOUT_S = 60.0  # for all rollouts, including the start of the fleet


class _OutputFile(NamedTuple):
    """An empty file for the traces.

    Attributes:
        path: Its path.
        is_new: True if it was just created, so that it may be removed again.
    """

    path: str
    is_new: bool


def check_requirements() -> None:
    """Raise ImportError if a package of `failgraph[demo]` is missing, before processes start."""
    for module in _NEEDED:
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def run(out: str | None, draw: Callable[[Sequence[Trace]], None]) -> bool:
    """Run all rollouts, write their traces to a file, read it back and print the failure trees.

    Args:
        out: The file, which must be new or empty. Without one, a temporary file is used.
        draw: Prints the failure trees of traces.

    Returns:
        True if all rollouts ran, and their traces arrived if they were sent to an endpoint.

    Raises:
        ConfigError: Tracing is turned off, or the file is not empty.
        SourceError: The endpoint cannot be reached, or the file cannot be written.
    """
    endpoint = _endpoint()
    file = _create(out)
    keep_file = is_complete = False
    try:
        with _exit_on_sigterm():
            is_complete = _collect(file.path, endpoint)
            if os.path.getsize(file.path):
                _show(file.path, draw, endpoint if is_complete else None)
                keep_file = endpoint is None or out is not None
                if keep_file:
                    shown = sanitize(file.path)
                    command = "failgraph" if shutil.which("failgraph") else sys.argv[0]
                    print(f"\ntraces written to {shown}; show them again: {command} show {shown}")
    finally:
        if file.is_new and not keep_file:
            os.unlink(file.path)
    return is_complete


def _endpoint() -> OtlpEndpoint | None:
    """Return the endpoint that the environment names, or None if it names none."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        raise ConfigError(["OTEL_SDK_DISABLED=true turns tracing off. Unset it to run the demo."])
    if not any(os.environ.get(name, "").strip() for name in ENDPOINTS):
        return None
    endpoint = endpoint_from_env(os.environ)
    if not is_listening(endpoint):
        raise SourceError(
            f"cannot connect to {endpoint.address}."
            f" Start a Collector there, or unset {endpoint.named_by}."
        )
    return endpoint


def _create(out: str | None) -> _OutputFile:
    """Create the file for the traces.

    Raises:
        ConfigError: It exists and is not empty.
        SourceError: It cannot be written.
    """
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
        raise SourceError(f"cannot write {out}: {reason_of(error)}") from error
    if size:
        raise ConfigError([f"-o {display(out)} exists and is not empty. Give a new file."])
    return _OutputFile(path, is_new)


@contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """Clean up on SIGTERM as on Ctrl-C."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _collect(path: str, endpoint: OtlpEndpoint | None) -> bool:
    """Run the rollouts, print their results, and write the spans of all processes to a file.

    Returns:
        True if all rollouts ran, and their spans arrived if there is an endpoint.
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
                _print_error(f"the demo's rollouts did not finish within {_TIMEOUT_S:g} s")
                return False
        if collector.returncode != 0:
            _print_error(f"the demo's collector exited with {collector.returncode}")
            return False
        print(f"what the {COLLECTOR} got:\n{answers}", flush=True)
        with open(path, "ab") as joined:
            for name in (COLLECTOR, *SERVERS):
                with open(traces_file(folder, name), "rb") as part:
                    shutil.copyfileobj(part, joined)
        return endpoint is None or _all_arrived(folder, endpoint)


def _all_arrived(folder: str, endpoint: OtlpEndpoint) -> bool:
    """Print which processes could not send their spans. Return True if there are none."""
    names = (COLLECTOR, *SERVERS)
    unsent = [name for name in names if os.path.exists(unsent_mark(folder, name))]
    if unsent:
        _print_error(
            f"cannot send the spans of {', '.join(unsent)} to {endpoint.address} by"
            f" {endpoint.protocol}. Set {PROTOCOLS[1]} for another protocol."
        )
    return not unsent


def _show(
    path: str, draw: Callable[[Sequence[Trace]], None], arrived_at: OtlpEndpoint | None
) -> None:
    """Print the failure trees, one line for each trace without failures, and the traces' pages.

    Args:
        path: The file of the traces.
        draw: Prints the failure trees of traces.
        arrived_at: The endpoint that all spans were sent to; None prints no pages.
    """
    reading = read(path)
    draw(reading.traces)
    failing = {trace.trace_id for trace in reading.traces}
    for span in spans(path):
        if span.trace_id not in failing and span.parent_span_id is None:
            rollout = span.attributes.get(ROLLOUT_ID)
            duration = format_duration(span.duration_nano)
            print(f"trace {span.trace_id} · rollout {rollout} · {duration} · no failures")
    print(f"\n{len(failing)} of {reading.trace_count} rollouts have failures")
    if arrived_at is not None:
        print(f"their traces were sent to {arrived_at.address}:")
        for trace in reading.traces:
            print(f"  {''.join(trace.rollout_ids[:1])}", *_pages(trace.trace_id), sep="\n    ")


def _pages(trace_id: str) -> Iterator[str]:
    """Yield the URLs of a trace in Jaeger, and in Grafana if it is configured."""
    settings = current()
    yield jaeger_trace_url(settings.jaeger_url, trace_id)
    if settings.grafana_url is not None:
        yield grafana_trace_url(settings.grafana_url, trace_id)


def _print_error(text: str) -> None:
    print(f"failgraph: {text}", file=sys.stderr)
