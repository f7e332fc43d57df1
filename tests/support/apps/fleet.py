"""One server of a fleet that does what its requests say: `python fleet.py NAME`.

It serves on a free port, which it prints. A request is a plan, as JSON: `fault` (what goes wrong
here) and `calls` (`to`, `plan`, `how` a failure is handled, `timeout`). Each call has a number, so
that a test can find its hop. The report that the caller received is written to a file of captures,
and so is the id of every failure that is created.
"""

import asyncio
import contextlib
import json
import os
import sys
import uuid
import warnings

warnings.simplefilter("ignore", DeprecationWarning)

import httpx  # noqa: E402
import uvicorn  # noqa: E402
from fastapi import FastAPI, Request  # noqa: E402
from fastapi.responses import JSONResponse, StreamingResponse  # noqa: E402
from opentelemetry import trace  # noqa: E402
from opentelemetry.exporter.otlp.json.file import FileSpanExporter  # noqa: E402
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor  # noqa: E402
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor  # noqa: E402
from opentelemetry.sdk.resources import Resource  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: E402
from starlette.background import BackgroundTask  # noqa: E402

import failgraph  # noqa: E402
from failgraph import NgFailureEvent  # noqa: E402

NAME = sys.argv[1] if __name__ == "__main__" else "collector"
FOLDER = os.environ["FLEET_FOLDER"]
BOUNDARIES = {
    "model": "model",
    "agent": "agent",
    "resources": "resources_server",
    "environment": "environment",
}
PORTS: dict[str, int] = {}


class Busy(NgFailureEvent):
    """A failure that an exception handler turns into a 503."""


def provide() -> None:
    """Set up the program's own tracing. failgraph is enabled from outside."""
    provider = TracerProvider(resource=Resource.create({"service.name": NAME}))
    provider.add_span_processor(
        BatchSpanProcessor(FileSpanExporter(f"{FOLDER}/{NAME}.jsonl"), max_queue_size=100_000)
    )
    trace.set_tracer_provider(provider)
    HTTPXClientInstrumentor().instrument()


def capture(**fields: object) -> None:
    """Write one line to this process's captures."""
    with open(f"{FOLDER}/{NAME}.captures", "a") as file:
        file.write(json.dumps(fields) + "\n")


def failure(kind: str, cls=NgFailureEvent, reason: str = "as planned", **fields) -> NgFailureEvent:
    made = cls(kind, reason, boundary=BOUNDARIES.get(NAME, "collection"), **fields)
    capture(made=made.event_id, by=NAME)
    return made


def client() -> httpx.AsyncClient:
    """Return a client with any number of connections and no certificates to load."""
    return httpx.AsyncClient(
        trust_env=False, verify=False, limits=httpx.Limits(max_connections=None)
    )


async def call(client: httpx.AsyncClient, what: dict) -> None:
    """Make one call of a plan, and handle its failure as the plan says."""
    for _ in range(what.get("tries", 1)):
        number = uuid.uuid4().hex
        try:
            response = await client.post(
                f"http://127.0.0.1:{PORTS[what['to']]}/do",
                json=what["plan"],
                headers={"x-call": number},
                timeout=what.get("timeout", 60),
            )
        except httpx.HTTPError as error:
            if what["how"] == "raise":
                raise failure("agent_request_failed") from error
            continue
        capture(call=number, report=response.headers.get("x-ng-failure-report"))
        if response.status_code < 400:
            return
        if what["how"] == "raise":
            try:
                failgraph.raise_for_failure(response)
            except NgFailureEvent as remote:
                raise failure("agent_run_error") from remote
            raise failure("agent_run_error")


async def act(plan: dict) -> None:
    """Make the calls of a plan, in sequence or concurrently, and then fail as it says."""
    async with client() as calling:
        if plan.get("together"):
            tasks = [asyncio.ensure_future(call(calling, what)) for what in plan["calls"]]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        else:
            for what in plan["calls"]:
                await call(calling, what)
    await fail_as_planned(plan.get("fault"))


async def fail_as_planned(fault: str | None) -> None:
    if fault == "raise":
        raise failure("verifier_error")
    if fault == "chain":
        try:
            raise failure("transport_timeout")
        except NgFailureEvent as cause:
            raise failure("session_lost") from cause
    if fault == "busy":
        raise failure("provider_unavailable", Busy)
    if fault == "recover":
        for _ in range(2):
            with contextlib.suppress(NgFailureEvent):
                raise failure("transport_timeout")
    if fault == "own":
        failgraph.record(failure("judge_failed"), own=True)
    if fault == "many":
        for number in range(40):
            with contextlib.suppress(NgFailureEvent):
                raise failure("provider_unavailable", reason=f"{number} " + os.urandom(300).hex())
        raise failure("verifier_error", reason="the last one")
    if fault == "slow":
        await asyncio.sleep(1.0)
        raise failure("agent_timeout")


async def fail_later() -> None:
    await asyncio.sleep(0.01)
    raise failure("persistence_failed")


async def parts():
    yield b"one"
    await asyncio.sleep(0.01)
    raise failure("session_lost")


def application() -> FastAPI:
    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI):
        yield
        failgraph.flush(20)

    app = FastAPI(lifespan=lifespan)

    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy):
        return JSONResponse({"detail": "busy"}, 503)

    if NAME == "resources":

        @app.middleware("http")
        async def catch(request: Request, call_next):
            try:
                return await call_next(request)
            except Exception as error:
                return JSONResponse(repr(error), 500)

    @app.post("/ports")
    async def ports(request: Request):
        PORTS.update(await request.json())
        return "known"

    @app.post("/do")
    async def do(request: Request):
        trace.get_current_span().set_attribute("call", request.headers["x-call"])
        plan = await request.json()
        await act(plan)
        if plan.get("fault") == "background":
            return JSONResponse("done", background=BackgroundTask(fail_later))
        if plan.get("fault") == "stream":
            return StreamingResponse(parts())
        return "done"

    return app


def main() -> None:
    provide()
    app = application()
    FastAPIInstrumentor.instrument_app(app)
    config = uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=10)
    server = uvicorn.Server(config)

    async def serve() -> None:
        serving = asyncio.ensure_future(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        print(server.servers[0].sockets[0].getsockname()[1], flush=True)
        await serving

    asyncio.run(serve())


if __name__ == "__main__":
    main()
