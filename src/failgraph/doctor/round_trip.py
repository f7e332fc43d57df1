"""Send a test failure graph through the configured exporter, and read it back from a backend."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from failgraph.doctor.check import CheckResult, TraceSource
from failgraph.doctor.difference import report_differences, trace_differences
from failgraph.doctor.sample_graph import record_sample_graph
from failgraph.errors import SourceError
from failgraph.export.captured_log import captured_log
from failgraph.otlp import OtlpEndpoint, exporter_message, grpc_problem, make_exporter
from failgraph.readers import Trace
from failgraph.redaction.display import display

PART = "round trip"
READ_BACK_S = 20.0  # until a backend has to return the whole trace
_EXPORT_S = 15.0
_PAUSE_S = 0.5


def check_round_trip(
    endpoint: OtlpEndpoint, environ: Mapping[str, str], source: TraceSource | None
) -> Iterator[CheckResult]:
    """Send the graph, read it back, and report what each part of the way changed.

    Args:
        endpoint: Where the exporter sends the graph.
        environ: Configures the exporter.
        source: Where to read the graph back; None skips that.
    """
    try:
        with captured_log() as log:
            graph = record_sample_graph()
    except Exception as error:  # noqa: BLE001 - the SDK may raise anything for a variable that it cannot use
        problem = f"cannot start OpenTelemetry's SDK: {type(error).__name__}: {error}"
        yield CheckResult(PART, "problem", display(problem, 500))
        return
    # `msg`, not `getMessage()`: the arguments may be values of variables.
    for text in dict.fromkeys(str(record.msg) for record in log):
        yield CheckResult(PART, "note", display(f"OpenTelemetry's SDK logged: {text}"))
    if graph.trace is None:
        yield CheckResult(PART, "problem", "nothing was recorded: see the settings above")
        return
    lost = list(report_differences(graph.report, graph.trace.report))
    yield from _leg("in this process, between `record` and the exporter", lost)
    failure = _export(endpoint, graph.spans, environ)
    if failure is not None:
        yield CheckResult(PART, "problem", f"cannot export to {endpoint.address}: {failure}")
        return
    sent = f"sent trace {graph.trace.trace_id} to {endpoint.address} ({endpoint.protocol})"
    yield CheckResult(PART, "ok", sent, is_notable=source is not None)
    if source is None:
        yield CheckResult(PART, "note", "not read back: no SOURCE was given")
        return
    yield from _check_source(source, graph.trace, endpoint)


def _check_source(
    source: TraceSource, sent: Trace, endpoint: OtlpEndpoint
) -> Iterator[CheckResult]:
    """Read the trace back, and report what was lost between the exporter and the source."""
    try:
        received = _read_back(source, sent)
    except SourceError as error:
        yield CheckResult(PART, "problem", display(str(error), 500))
        return
    if received is None:
        text = (
            f"{source.name} did not have the trace within {READ_BACK_S:g} s."
            f" Check that {endpoint.address} sends traces to it."
        )
        yield CheckResult(PART, "problem", text)
        return
    lost = list(trace_differences(sent, received))
    yield from _leg(f"between the exporter and {source.name}", lost, is_notable=True)


def _leg(where: str, lost: Sequence[str], *, is_notable: bool = False) -> Iterator[CheckResult]:
    if not lost:
        yield CheckResult(PART, "ok", f"nothing was lost {where}", is_notable)
    for difference in lost:
        yield CheckResult(PART, "problem", f"lost {where}: {difference}")


def _export(
    endpoint: OtlpEndpoint, spans: Sequence[ReadableSpan], environ: Mapping[str, str]
) -> str | None:
    """Export the spans within 15 s: the exporter's own retries may take a minute.

    Returns:
        Why the export failed, safe to show, or None if it succeeded.
    """
    outcome: list[str | None] = []

    def work() -> None:
        try:
            result = make_exporter(endpoint).export(spans)
            outcome.append(None if result is SpanExportResult.SUCCESS else "")
        except Exception as error:  # noqa: BLE001 - an exporter may raise anything
            outcome.append(f"{type(error).__name__}: {error}")

    with captured_log() as log:
        worker = threading.Thread(target=work, name="failgraph-doctor", daemon=True)
        worker.start()
        worker.join(_EXPORT_S)
    failure = outcome[0] if outcome else f"no answer within {_EXPORT_S:g} s"
    if failure is None:
        return None
    reasons = [failure] if failure else []
    lines = [
        record.getMessage() for record in log if record.name.startswith("opentelemetry.exporter")
    ]
    reasons += lines[-1:]
    text = "; ".join(reasons) or "the exporter gave no reason"
    not_grpc = grpc_problem(text, endpoint.host, endpoint.port)
    return exporter_message(text, environ, 500) if not_grpc is None else f"{not_grpc}."


def _read_back(source: TraceSource, sent: Trace) -> Trace | None:
    """Read the trace until it is complete, for at most 20 s.

    Returns:
        What the source has of it in the end, or None if it has nothing.
    """
    deadline = time.monotonic() + READ_BACK_S
    received = None
    while True:
        for trace in source.read(sent.trace_id).traces:
            if trace.trace_id == sent.trace_id:
                received = trace
        is_whole = received is not None and not any(trace_differences(sent, received))
        if is_whole or time.monotonic() > deadline:
            return received
        time.sleep(_PAUSE_S)
