"""When spans do not arrive: nothing blocks, and the journal knows what to send later."""

from __future__ import annotations

import logging
import threading
from importlib.metadata import version
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import failgraph
from builders import event
from failgraph.cli import main
from failgraph.readers import read
from journals import ids
from otlp_server import Receiver

FAILURES = 100


class Stuck(SpanExporter):
    """Writes batches to a file, but blocks in the first one until it is released."""

    def __init__(self, path: Path) -> None:
        self.free = threading.Event()
        self._path = path

    def export(self, spans):
        from opentelemetry.exporter.otlp.json.file import FileSpanExporter

        self.free.wait(60)
        with self._path.open("a") as stream:
            FileSpanExporter(stream=stream).export(spans)
        return SpanExportResult.SUCCESS


@pytest.fixture
def journal(setting, tmp_path) -> Path:
    setting("JOURNAL", str(tmp_path / "journal"))
    return tmp_path / "journal"


def failing(provider: TracerProvider) -> list[str]:
    """Spans with a failure each; their ids."""
    tracer = provider.get_tracer("t")
    for number in range(FAILURES):
        with tracer.start_as_current_span("work"):
            assert failgraph.record(event(f"f{number}")).placement == "span"
    return [f"f{number}" for number in range(FAILURES)]


def exported(capsys, journal: Path, to: str) -> str:
    assert main(["export", str(journal), "-o", to]) == 0
    return capsys.readouterr().out


def test_a_full_queue_loses_nothing_that_the_journal_has(journal, tmp_path, capsys):
    """With a queue of 8 and a stuck exporter each call returns, and an export adds the rest."""
    pytest.importorskip("opentelemetry.exporter.otlp.json.file")
    file = tmp_path / "traces.jsonl"
    stuck = Stuck(file)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(
        BatchSpanProcessor(
            stuck, max_queue_size=8, max_export_batch_size=8, schedule_delay_millis=3_600_000
        )
    )
    expected = failing(provider)
    assert sorted(ids(journal)) == sorted(expected)
    stuck.free.set()
    provider.shutdown()
    arrived = [key for each in read(file).traces for key in each.failures]
    assert 8 <= len(arrived) < FAILURES
    found = {
        key: failure for each in read(file.parent).traces for key, failure in each.failures.items()
    }
    assert sorted(found) == sorted(expected)
    from_journal = [key for key, failure in found.items() if failure.placement == "journal"]
    assert sorted(from_journal + arrived) == sorted(expected)
    assert f"{FAILURES - len(arrived)} exported, {len(arrived)} already there" in exported(
        capsys, journal, str(file)
    )
    assert sorted(key for each in read(file).traces for key in each.failures) == sorted(expected)


@pytest.mark.parametrize("status", [400, 503])
def test_a_collector_that_refuses_costs_no_failure(journal, capsys, caplog, status):
    """Of 100 failures none arrives, no call waits for it, and an export sends each once."""
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    provider = TracerProvider(shutdown_on_exit=False)
    with Receiver(status) as refusing:
        processor = BatchSpanProcessor(
            OTLPSpanExporter(f"{refusing.endpoint}/v1/traces", timeout=1)
        )
        provider.add_span_processor(processor)
        expected = failing(provider)
        provider.shutdown()
        refused = refusing.failures()
    assert set(refused) <= set(expected)
    with Receiver() as receiver:
        assert f"{FAILURES} exported" in exported(capsys, journal, f"{receiver.endpoint}/v1/traces")
        assert receiver.failures() == dict.fromkeys(expected, 1)
        first = receiver.spans()
        exported(capsys, journal, f"{receiver.endpoint}/v1/traces")
        again = receiver.spans()[len(first) :]
    # An endpoint cannot be asked: what is sent again is the same spans.
    assert [span.SerializeToString() for span in again] == [
        span.SerializeToString() for span in first
    ]


def test_a_collector_that_is_down_costs_no_failure(journal, caplog):
    """Nobody listens; every call returns, and the journal has all."""
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    with Receiver() as gone:
        endpoint = gone.endpoint
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces", timeout=1))
    )
    expected = failing(provider)
    assert ids(journal) == expected
    provider.shutdown()


@pytest.mark.skipif(
    version("opentelemetry-sdk").startswith("1.27."), reason="this SDK says that it has flushed"
)
def test_an_exporter_that_hangs_is_counted_at_the_flush(journal, tmp_path):
    """Recording goes on; a flush gives up at its limit, says so, and counts it."""
    pytest.importorskip("opentelemetry.exporter.otlp.json.file")
    stuck = Stuck(tmp_path / "traces.jsonl")
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(stuck))
    tracer = provider.get_tracer("t")
    # A failure span is what tells the recorder of a provider that is not the global one.
    for number in range(70):
        failgraph.record(event(str(number)), span=tracer.start_span("open") if not number else None)
    ended = tracer.start_span("ended")
    ended.end()
    assert failgraph.record(event("late"), span=ended).placement == "failure_span"
    assert failgraph.flush(0.2) is False
    assert failgraph.stats()["flush_timeout"] == 1
    with tracer.start_as_current_span("after"):
        assert failgraph.record(event("after")).placement == "span"
    stuck.free.set()
    provider.shutdown()
    assert "after" in ids(journal)
