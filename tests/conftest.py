"""A fresh recorder for each test, providers with exporters in memory, and no error of failgraph's own left unseen."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import SpanLimits, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import failgraph
from failgraph import diagnostics, redaction, settings
from failgraph.context import current_hop
from failgraph.readers import Reading, read
from failgraph.recording import recorder as recorder_module


@pytest.fixture(autouse=True)
def fresh(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test starts as a new process does, and fails where failgraph swallowed an error of its own.

    The marker `internal_error` says that a test provokes one.
    """
    for name in list(os.environ):
        if name.startswith(("FAILGRAPH_", "OTEL_")):
            monkeypatch.delenv(name)
    diagnostics.reset_after_fork()
    settings.current.cache_clear()
    redaction._function.cache_clear()
    monkeypatch.setattr(recorder_module, "_recorder", recorder_module.Recorder())
    token = current_hop.set(None)
    digits = sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else None
    yield
    if digits is not None:
        sys.set_int_max_str_digits(digits)  # the command raises it for itself
    current_hop.reset(token)
    settings.current.cache_clear()
    if request.node.get_closest_marker("internal_error") is None:
        assert failgraph.stats().get("internal_error", 0) == 0, (
            "failgraph swallowed an error of its own"
        )


@pytest.fixture(scope="session")
def fleet_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The traces of the demo's fleet, as it writes them itself."""
    pytest.importorskip("fastapi", reason="the demo's servers are FastAPI's, which this set lacks")
    pytest.importorskip(
        "opentelemetry.exporter.otlp.json.file", reason="the demo writes what this set cannot"
    )
    file = tmp_path_factory.mktemp("fleet") / "traces.jsonl"
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FAILGRAPH_", "OTEL_"))
    }
    command = [sys.executable, "-m", "failgraph", "demo", "--out", str(file)]
    subprocess.run(command, check=True, env=own, stdout=subprocess.DEVNULL)
    return file


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Set a setting of this process; the name comes without its prefix."""

    def put(name: str, value: str) -> None:
        monkeypatch.setenv(f"FAILGRAPH_{name}", value)
        settings.current.cache_clear()

    return put


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    """Holds the spans that have ended."""
    return InMemorySpanExporter()


@pytest.fixture
def make_provider(exporter: InMemorySpanExporter) -> Iterator[Callable[..., TracerProvider]]:
    """Make a provider with failgraph's processor that exports to `exporter`; keywords are its own or `SpanLimits`'."""
    made: list[TracerProvider] = []

    def make(**options: object) -> TracerProvider:
        limits = {name: options.pop(name) for name in list(options) if name.startswith("max_")}
        provider = TracerProvider(
            span_limits=SpanLimits(**limits), shutdown_on_exit=False, **options
        )
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        provider.add_span_processor(failgraph.FailureSpanProcessor())
        made.append(provider)
        return provider

    yield make
    for provider in made:
        provider.shutdown()


@pytest.fixture
def tracer(make_provider: Callable[..., TracerProvider]) -> Tracer:
    """A tracer of such a provider without special limits."""
    return make_provider().get_tracer("test")


@pytest.fixture
def reading(tmp_path: Path) -> Callable[[bytes], Reading]:
    """Read bytes as a file that somebody downloaded."""

    def make(data: bytes) -> Reading:
        path = tmp_path / "downloaded"
        path.write_bytes(data)
        return read(path)

    return make
