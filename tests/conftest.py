"""Fixtures of all tests: a fresh recorder for each, and providers that export to memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import SpanLimits, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import failgraph
from failgraph import diagnostics, settings
from failgraph.context import current_hop
from failgraph.readers import Reading, read
from failgraph.recording import recorder as recorder_module
from failgraph.redaction.own_rules import load_function
from otlp_server import Receiver
from programs import clean_environment
from real_programs import HOW_TO_GET, find


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what the markers `needs` and `slow_after` imply."""
    rows: Counter[object] = Counter()
    for item in items:
        if item.get_closest_marker("needs"):
            item.add_marker("slow")
            item.add_marker("once")
        slow_after = item.get_closest_marker("slow_after")
        if slow_after:
            function = getattr(item, "function", None)
            rows[function] += 1
            if rows[function] > slow_after.args[0]:
                item.add_marker("slow")


@pytest.hookimpl(tryfirst=True)  # before the fixtures, which start the programs
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose real programs are missing, but fail it in CI: there all are made first."""
    for marker in item.iter_markers("needs"):
        for name in marker.args:
            if find(name) is None:
                report = pytest.fail if os.environ.get("CI") else pytest.skip
                report(f"{name} is missing: {HOW_TO_GET[name]}")


@pytest.fixture(autouse=True)
def fresh(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give each test the state of a new process, and fail it if failgraph swallowed an own error.

    A test that provokes such an error has the marker `internal_error`.
    """
    for name in list(os.environ):
        if name.startswith(("FAILGRAPH_", "OTEL_")):
            monkeypatch.delenv(name)
    diagnostics.reset_after_fork()
    settings.current.cache_clear()
    load_function.cache_clear()
    monkeypatch.setattr(recorder_module, "_recorder", recorder_module.Recorder())
    token = current_hop.set(None)
    digits = sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else None
    yield
    if digits is not None:
        sys.set_int_max_str_digits(digits)  # the command line raises the limit for its process
    current_hop.reset(token)
    settings.current.cache_clear()
    if request.node.get_closest_marker("internal_error") is None:
        assert failgraph.stats().get("internal_error", 0) == 0, (
            "failgraph swallowed an error of its own"
        )


@pytest.fixture(scope="session")
def fleet_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the demo once and return the file with its traces."""
    pytest.importorskip("fastapi", reason="the demo needs FastAPI")
    pytest.importorskip(
        "opentelemetry.exporter.otlp.json.file", reason="the demo needs the exporter of JSON files"
    )
    file = tmp_path_factory.mktemp("fleet") / "traces.jsonl"
    command = [sys.executable, "-m", "failgraph", "demo", "-o", str(file)]
    subprocess.run(command, check=True, env=clean_environment(), stdout=subprocess.DEVNULL)
    return file


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return a function that sets a setting of this process, by its name without FAILGRAPH_."""

    def put(name: str, value: str) -> None:
        monkeypatch.setenv(f"FAILGRAPH_{name}", value)
        settings.current.cache_clear()

    return put


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Return an OTLP receiver for the programs that a test starts."""
    with Receiver() as listening:
        yield listening


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    """Return an exporter that keeps the spans that have ended."""
    return InMemorySpanExporter()


@pytest.fixture
def make_provider(exporter: InMemorySpanExporter) -> Iterator[Callable[..., TracerProvider]]:
    """Return a function that makes a provider with failgraph's processor, exporting to `exporter`.

    Keywords that begin with `max_` go to `SpanLimits`, all others to the provider.
    """
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
    """Return a tracer of a provider with the default limits."""
    return make_provider().get_tracer("test")


@pytest.fixture
def reading(tmp_path: Path) -> Callable[[bytes], Reading]:
    """Return a function that reads bytes as a file."""

    def make(data: bytes) -> Reading:
        path = tmp_path / "downloaded"
        path.write_bytes(data)
        return read(path)

    return make
