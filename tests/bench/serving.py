"""Measure what a server pays: a request without failures, and the headers of one with some."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

from asgi import ACCEPTS_REPORTS, call
from bench.measure import Row, Scale, pairs, ratios
from bench.running import provider, usual
from failgraph import FailureReport
from failgraph.instrumentation.attach import attach, detach
from failgraph.transport.header_decoder import decode_report
from failgraph.transport.header_encoder import encode_headers
from failgraph.transport.headers import MAX_VALUE

_REQUESTS = 200
_HEADERS = 50


def application() -> Any:
    """Return a FastAPI application with one route; it traces itself."""
    import fastapi

    app = fastapi.FastAPI(telemetry={"tracer_provider": provider(with_failgraph=False)})
    app.get("/")(lambda: "done")
    return app


def requests(app: Any, at_once: int = 1) -> float:
    """Return the CPU time of requests that ask for a report, in seconds."""

    async def many() -> float:
        start = time.thread_time()
        for _ in range(_REQUESTS // at_once):
            await asyncio.gather(*(call(app, "/", ACCEPTS_REPORTS) for _ in range(at_once)))
        return time.thread_time() - start

    return asyncio.run(many())


def with_and_without() -> tuple[Callable[[int], float], Callable[[int], float]]:
    """Return two functions that measure the same requests, with failgraph's layer and without."""
    plain = application()
    requests(plain)
    attach("bench", include_global=False)
    layered = application()
    requests(layered)
    detach()

    def ours(at_once: int = 1) -> float:
        attach("bench", include_global=False)
        try:
            return requests(layered, at_once)
        finally:
            detach()

    return ours, lambda at_once=1: requests(plain, at_once)


def rows(scale: Scale) -> Iterator[Row]:
    """Yield each row as soon as it is measured."""
    if find_spec("fastapi") is not None:
        ours, plain = with_and_without()
        times = pairs(ours, plain, scale.first, clock=lambda run: run())
        cost = sorted(times[0])[scale.first // 2] / _REQUESTS * 1e6
        work = "a request without failures, asked for a report"
        yield Row(
            "serve", work, "without failgraph", ratios(times), 1.02, cost_us=cost, each="request"
        )
    yield _headers(scale)


def _headers(scale: Scale) -> Row:
    events = [usual().model_copy(update={"cause_id": None}) for _ in range(10)]
    report = FailureReport(
        events={event.event_id: event for event in events}, failure_id=events[0].event_id
    )

    def ours() -> None:
        for _ in range(_HEADERS):
            headers = encode_headers(report, {}, MAX_VALUE)
            assert headers is not None
            assert decode_report(headers.report_value) == report

    def pydantic() -> None:
        for _ in range(_HEADERS):
            assert FailureReport.model_validate_json(report.model_dump_json()) == report

    times = pairs(ours, pydantic, scale.repeats)
    cost = sorted(times[0])[scale.repeats // 2] / _HEADERS * 1e6
    work = "header of 10 failures, written and read, not compressed"
    return Row(
        "serve",
        work,
        "`model_dump_json`, `model_validate_json`",
        ratios(times),
        1.2,
        cost_us=cost,
        each="report",
    )
