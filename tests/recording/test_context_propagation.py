"""With its context, or once its exception is back, a failure is in its own trace; else in none."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import trace

import failgraph
from asgi import ACCEPTS_REPORTS, call
from failgraph import NgFailureEvent
from failgraph.instrumentation import attach as attaching
from failgraph.transport.header_decoder import decode_report

fastapi = pytest.importorskip(
    "fastapi", reason="the server layer is tested on FastAPI, which this set lacks"
)
pytest.importorskip("fastapi.telemetry", reason="this FastAPI does not trace itself")


@pytest.fixture(autouse=True)
def attached():
    attaching.attach("the test", include_global=False)
    yield
    attaching.detach()


def fail(name: str) -> None:
    raise NgFailureEvent(f"{name}_failed", boundary="agent")


def swallow(name: str) -> None:
    with contextlib.suppress(NgFailureEvent):
        fail(name)


async def task(name, work):
    async def run():
        work(name)

    await asyncio.create_task(run())


async def to_thread(name, work):
    await asyncio.to_thread(work, name)


async def run_in_executor(name, work):
    await asyncio.get_running_loop().run_in_executor(None, work, name)


async def pool(name, work):
    with ThreadPoolExecutor(1) as executor:
        executor.submit(work, name).result()


async def thread(name, work):
    raised = []

    def run():
        try:
            work(name)
        except NgFailureEvent as error:
            raised.append(error)

    started = threading.Thread(target=run)
    started.start()
    started.join()
    for error in raised:
        raise error


WITH_CONTEXT = [task, to_thread]
WITHOUT = [run_in_executor, pool, thread]


@pytest.fixture
def served(make_provider, exporter):
    """Serve sixteen requests at once; return their reports by name, and where each failure is."""

    def run(way, work):
        app = fastapi.FastAPI(telemetry={"tracer_provider": make_provider()})

        @app.get("/{name}")
        async def route(name: str):
            await way(name, work)

        async def all_at_once():
            names = [f"r{number}" for number in range(16)]
            answers = await asyncio.gather(
                *(call(app, f"/{name}", ACCEPTS_REPORTS) for name in names)
            )
            return dict(zip(names, answers, strict=True))

        answers = asyncio.run(all_at_once())
        traces = {}
        for span in exporter.get_finished_spans():
            if span.kind is trace.SpanKind.SERVER:
                traces[span.context.trace_id] = span.attributes["url.path"].strip("/")
        places = [
            (traces.get(span.context.trace_id), event.attributes["nemo.gym.failure.kind"])
            for span in exporter.get_finished_spans()
            for event in span.events
            if event.name == "nemo.gym.failure"
        ]
        return answers, places

    return run


@pytest.mark.parametrize("way", [*WITH_CONTEXT, *WITHOUT], ids=lambda way: way.__name__)
def test_an_exception_that_comes_back_is_in_its_own_request(served, way):
    """However it ran: the failure is the request's own, in its trace, once."""
    answers, places = served(way, fail)
    assert sorted(places) == sorted((name, f"{name}_failed") for name in answers)
    for name, answer in answers.items():
        report = decode_report(answer.headers["x-ng-failure-report"])
        assert [event.failure_kind for event in report.events.values()] == [f"{name}_failed"]
        assert report.failure_id in report.events


@pytest.mark.parametrize("way", WITH_CONTEXT, ids=lambda way: way.__name__)
def test_a_swallowed_failure_is_known_where_the_context_went_along(served, way):
    """Recovered in a task or thread with the request's context, it is in its trace and reported."""
    answers, places = served(way, swallow)
    assert sorted(places) == sorted((name, f"{name}_failed") for name in answers)
    for answer in answers.values():
        assert decode_report(answer.headers["x-ng-failure-report"]).failure_id is None


@pytest.mark.parametrize("way", WITHOUT, ids=lambda way: way.__name__)
def test_a_swallowed_failure_without_context_is_counted_and_never_guessed(served, way):
    """Nobody knows whose it was: it is in no trace, and in the counters."""
    gc.collect()  # what other tests left
    before = failgraph.stats().get("swallowed", 0)
    answers, places = served(way, swallow)
    assert places == []
    assert all("x-ng-failure-report" not in answer.headers for answer in answers.values())
    assert failgraph.stats()["swallowed"] - before == 16


def test_two_servers_in_one_process_keep_their_requests_apart(make_provider, exporter):
    """Two applications in two event loops of two threads keep their traces apart."""
    apps = []
    for number in range(2):
        app = fastapi.FastAPI(telemetry={"tracer_provider": make_provider()})

        @app.get("/{name}")
        async def route(name: str, number: int = number):
            await asyncio.sleep(0.01)
            fail(f"app{number}_{name}")

        apps.append(app)

    async def many(app):
        return await asyncio.gather(
            *(call(app, f"/r{each}", ACCEPTS_REPORTS) for each in range(20))
        )

    with ThreadPoolExecutor(2) as executor:
        results = list(executor.map(lambda app: asyncio.run(many(app)), apps))
    for number, answers in enumerate(results):
        for each, answer in enumerate(answers):
            (event,) = decode_report(answer.headers["x-ng-failure-report"]).events.values()
            assert event.failure_kind == f"app{number}_r{each}_failed"
    spans = exporter.get_finished_spans()
    assert sum(event.name == "nemo.gym.failure" for span in spans for event in span.events) == 40
