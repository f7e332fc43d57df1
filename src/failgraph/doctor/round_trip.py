"""A marked failure graph through the configured exporter, and back from a backend: what is lost, and where."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from failgraph.doctor.check import Ask, Check
from failgraph.doctor.difference import of_reports, of_traces
from failgraph.doctor.sample_graph import marked
from failgraph.errors import SourceError
from failgraph.otlp import OtlpEndpoint, exporter_message, make_exporter
from failgraph.readers import Trace
from failgraph.redaction.display import display

PART = "round trip"
ASK_S = 20.0
"""How long a backend may take until it gives what was sent."""
_EXPORT_S = 15.0
_PAUSE_S = 0.5


def round_trip(
    where: OtlpEndpoint, environ: Mapping[str, str], backend: str | None, ask: Ask | None
) -> Iterator[Check]:
    """Send the graph, ask `backend` for it where there is one, and say what each part of the way has changed."""
    try:
        with _heard() as records:
            graph = marked()
    except Exception as error:  # noqa: BLE001 - the SDK raises anything for a variable that it cannot use
        said = f"OpenTelemetry's SDK does not start: {type(error).__name__}: {error}"
        yield Check(PART, "problem", display(said, 500))
        return
    for said in dict.fromkeys(
        str(record.msg) for record in records
    ):  # a value of some variable goes where % is
        yield Check(PART, "note", display(f"OpenTelemetry's SDK logs: {said}"))
    if graph.trace is None:
        yield Check(PART, "problem", "nothing was recorded; the settings above say why")
        return
    lost = list(of_reports(graph.report, graph.trace.report))
    yield from _part("in this process, between `record` and the exporter", lost)
    address = where.address
    refused = _export(where, graph.spans, environ)
    if refused is not None:
        yield Check(PART, "problem", f"the exporter to {address} failed: {refused}")
        return
    yield Check(PART, "ok", f"sent trace {graph.trace.trace_id} to {address} by {where.protocol}")
    if ask is None:
        yield Check(
            PART, "note", "not read back: name the backend, as in `failgraph doctor jaeger`"
        )
        return
    try:
        back = _asked(ask, graph.trace)
    except SourceError as error:
        yield Check(PART, "problem", display(str(error), 500))
        return
    if back is None:
        text = f"{backend} did not have the trace within {ASK_S:g} s: does what listens at {address} send to it?"
        yield Check(PART, "problem", text)
        return
    yield from _part(f"between the exporter and {backend}", list(of_traces(graph.trace, back)))


def _part(where: str, lost: Sequence[str]) -> Iterator[Check]:
    if not lost:
        yield Check(PART, "ok", f"nothing was lost {where}")
    for each in lost:
        yield Check(PART, "problem", f"lost {where}: {each}")


def _export(
    where: OtlpEndpoint, spans: Sequence[ReadableSpan], environ: Mapping[str, str]
) -> str | None:
    """Export once; what the exporter says where that fails. It may try again for longer than anybody wants to wait."""
    done: list[str | None] = []
    with _heard() as records:

        def work() -> None:
            try:
                result = make_exporter(where).export(spans)
                done.append(None if result is SpanExportResult.SUCCESS else "it was refused")
            except Exception as error:  # noqa: BLE001 - an exporter may raise anything; that is what is to be found out
                done.append(f"{type(error).__name__}: {error}")

        worker = threading.Thread(target=work, name="failgraph-doctor", daemon=True)
        worker.start()
        worker.join(_EXPORT_S)
    failed = done[0] if done else f"no answer within {_EXPORT_S:g} s"
    lines = [
        record.getMessage()
        for record in records
        if record.name.startswith("opentelemetry.exporter")
    ]
    return (
        None if failed is None else exporter_message("; ".join([failed, *lines[-1:]]), environ, 500)
    )


@contextmanager
def _heard() -> Iterator[list[logging.LogRecord]]:
    """What OpenTelemetry logs meanwhile; nothing of it is printed: it shows headers that it cannot read."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record)  # type: ignore[method-assign]
    logger = logging.getLogger("opentelemetry")
    before, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield records
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def _asked(ask: Ask, sent: Trace) -> Trace | None:
    """The trace as the backend has it, as soon as that is all of it, or when it has had time enough."""
    until = time.monotonic() + ASK_S
    back = None
    while True:
        found = [trace for trace in ask(sent.trace_id).traces if trace.trace_id == sent.trace_id]
        back = found[0] if found else back
        if (found and not any(of_traces(sent, found[0]))) or time.monotonic() > until:
            return back
        time.sleep(_PAUSE_S)
