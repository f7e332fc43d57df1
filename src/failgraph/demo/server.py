"""What each process of the fleet does besides its work: it traces itself into a file of its own, and is served."""

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

_GRACE_S = 4
"""How long requests may still take when the server is asked to end."""


def server_url(server: str) -> str:
    """Where a server of the fleet is."""
    return os.environ[url_variable(server)]


def start_tracing(service: str) -> None:
    """Trace this process, and end it when the demo ends."""
    # The start-up file has done so, where failgraph is installed and not merely copied.
    attach("the demo")
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(FileSpanExporter(os.environ[TRACES])))
    if UNSENT_MARK in os.environ:
        # What it says of each try would stand between the demo's lines; the demo says what did not arrive.
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
    """An exporter whose file is there as long as spans have not arrived; a process may end while it still tries."""

    def __init__(self, exporter: SpanExporter, path: str) -> None:
        self._exporter = exporter
        self._path = path
        self._missing = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export, and note that these have not arrived until they have."""
        self._missing += 1
        open(self._path, "a").close()
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self._missing -= 1
        if not self._missing:
            os.unlink(self._path)
        return result

    def shutdown(self) -> None:
        """End the exporter."""
        self._exporter.shutdown()


def demo_has_ended() -> bool:
    """Whether nobody holds the other end of the pipe any more; waits a moment for it."""
    return bool(select.select([int(os.environ[LIFELINE])], [], [], 0.5)[0])


def _end_with_parent() -> None:
    """Wait until nobody holds the other end of the pipe: the demo has ended, even if it was killed."""
    os.read(int(os.environ[LIFELINE]), 1)
    os.kill(os.getpid(), signal.SIGTERM)


def serve(app: FastAPI, service: str) -> None:
    """Serve `app` on the socket that the demo has opened, until SIGTERM."""
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
async def flush_on_exit(app: FastAPI) -> AsyncIterator[None]:  # noqa: ARG001 - FastAPI gives it
    """A lifespan: uvicorn ends by the signal that it got, and nothing is exported after that."""
    yield
    failgraph.flush()


async def answer_500(
    request: Request, call_next: Callable[[Request], Awaitable[Response]]
) -> Response:
    """Middleware, as Gym has it: whatever a route raises becomes a JSON 500."""
    try:
        return await call_next(request)
    except Exception as error:  # noqa: BLE001 - that is what it is for
        return JSONResponse(repr(error), 500)
