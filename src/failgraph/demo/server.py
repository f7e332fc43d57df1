"""What every process of the fleet does: trace itself, serve, and exit with the demo."""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from opentelemetry import trace
from opentelemetry.exporter.otlp.json.file import FileSpanExporter
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import failgraph
from failgraph.demo.fleet import LIFELINE, SOCKET, TRACES, UNSENT_MARK, url_variable
from failgraph.instrumentation.attach import attach
from failgraph.otlp import endpoint_from_env, make_exporter

Body = dict[str, Any]

_GRACE_S = 4  # for requests that are running when the server is stopped


def server_url(server: str) -> str:
    """Return the URL of a server of the fleet."""
    return os.environ[url_variable(server)]


def start_tracing(service: str) -> None:
    """Trace this process, and exit when the demo ends."""
    # If failgraph is installed, its start-up file has done this already; a copy has none.
    attach("the demo")
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(FileSpanExporter(os.environ[TRACES])))
    if UNSENT_MARK in os.environ:
        # Its log lines would mix with the demo's output, which reports unsent spans itself.
        logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)
        provider.add_span_processor(
            BatchSpanProcessor(
                MarkingExporter(
                    make_exporter(endpoint_from_env(os.environ)), os.environ[UNSENT_MARK]
                )
            )
        )
    trace.set_tracer_provider(provider)
    HTTPXClientInstrumentor().instrument()
    threading.Thread(target=_end_with_parent, name="lifeline", daemon=True).start()


class MarkingExporter(SpanExporter):
    """Exports spans, and keeps a file while some have not arrived.

    The file tells the demo of unsent spans even if the process ends during a retry.
    """

    def __init__(self, exporter: SpanExporter, path: str) -> None:
        self._exporter = exporter
        self._path = path
        self._missing = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export spans. The file exists from before the attempt until all spans have arrived."""
        self._missing += 1
        open(self._path, "a").close()
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self._missing -= 1
        if not self._missing:
            os.unlink(self._path)
        return result

    def shutdown(self) -> None:
        """Shut the exporter down."""
        self._exporter.shutdown()


def demo_has_ended() -> bool:
    """True if the demo has closed its end of the pipe. Waits for that for 0.5 s."""
    return bool(select.select([int(os.environ[LIFELINE])], [], [], 0.5)[0])


def _end_with_parent() -> None:
    """Wait until the demo's end of the pipe is closed, even if it was killed, and exit."""
    os.read(int(os.environ[LIFELINE]), 1)
    os.kill(os.getpid(), signal.SIGTERM)


def serve(app: FastAPI, service: str) -> None:
    """Serve an application on the socket that the demo opened, until SIGTERM."""
    start_tracing(service)
    app.get("/health")(_health)
    FastAPIInstrumentor.instrument_app(
        app, excluded_urls="/health", exclude_spans=["receive", "send"]
    )
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=_GRACE_S)
    uvicorn.Server(config).run([socket.socket(fileno=int(os.environ[SOCKET]))])


async def _health() -> Body:
    return {}


@asynccontextmanager
async def flush_on_exit(app: FastAPI) -> AsyncIterator[None]:  # noqa: ARG001 - passed by FastAPI
    """Flush at the end of the lifespan: uvicorn then kills itself with the signal it received."""
    yield
    failgraph.flush()


async def answer_500(
    request: Request, call_next: Callable[[Request], Awaitable[Response]]
) -> Response:
    """Answer exceptions of routes with a JSON 500, as Gym's middleware does."""
    try:
        return await call_next(request)
    except Exception as error:  # noqa: BLE001 - any exception of a route
        return JSONResponse(repr(error), 500)
