"""The rollout service: agent, model, sandbox and judge routes of one FastAPI application, calling each other by HTTP.

Each route opens its hop and sends its report in the JSON body, as Gym's own episode reply does.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.sdk.trace import TracerProvider

import failgraph
from failgraph import FailureBoundary, FailureReport, NgFailureEvent
from failgraph.demo.faults import closed_port_url, run_in_sandbox, silent_server

Body = dict[str, Any]

MODEL_TIMEOUT_S = 0.5
_START_S = 10.0


def observe(reply: httpx.Response) -> NgFailureEvent | None:
    """Take what a reply of this service reports into the current hop; the failure that it is, None on success."""
    report = FailureReport.model_validate(reply.json().get("failure_report", {}))
    for event in report.events.values():
        failgraph.record(NgFailureEvent.from_record(event))
    return failgraph.rebuild_failure(report)


async def _hop(serve: Callable[[Body], Awaitable[Body]], body: Body) -> JSONResponse:
    """Serve one request as a hop: a failure becomes a 500, and every reply carries the hop's report."""
    with failgraph.hop():
        status, reply = 200, {}
        try:
            reply = await serve(body)
        except NgFailureEvent as failure:
            failgraph.record(failure, own=True)
            status = 500
        return JSONResponse({**reply, "failure_report": failgraph.current_report().model_dump(mode="json")}, status)


class Service:
    """The routes. `peer` calls the service itself, `provider` the model provider; both are traced HTTP clients."""

    def __init__(self, peer: httpx.AsyncClient, provider: httpx.AsyncClient, providers: dict[str, str]) -> None:
        self.peer = peer
        self.provider = provider
        self.providers = providers
        self._limited = iter((429,))

    async def run(self, body: Body) -> Body:
        """Agent: ask the model, run its answer, have it judged."""
        for path in ("/v1/responses", "/sandbox", "/verify"):
            reply = await self.peer.post(path, json=body)
            failure = observe(reply)
            if reply.status_code != 200:
                raise NgFailureEvent(
                    "agent_run_error",
                    f"{path} answered {reply.status_code}",
                    boundary=FailureBoundary.AGENT,
                    operation=path,
                ) from failure
            if failure is not None:
                failgraph.record(failure, own=True)
        return {"reward": reply.json()["reward"]}

    async def responses(self, body: Body) -> Body:
        """Model server: ask the provider, and again where it says that we are too fast."""
        url = self.providers[body["provider"]]
        for attempt in ("1", "2"):
            try:
                reply = await self.provider.post(url)
                reply.raise_for_status()
            except httpx.HTTPStatusError as error:
                limit = NgFailureEvent(
                    "provider_quota_exhausted",
                    "the provider asks to slow down",
                    http_status=error.response.status_code,
                    boundary=FailureBoundary.MODEL,
                    attempt_id=attempt,
                )
                failgraph.record(limit)
            except httpx.TransportError as error:
                timed_out = isinstance(error, httpx.TimeoutException)
                raise NgFailureEvent(
                    "transport_timeout" if timed_out else "transport_unreachable",
                    f"no answer within {MODEL_TIMEOUT_S} s" if timed_out else "the provider cannot be reached",
                    boundary=FailureBoundary.MODEL,
                    stage="agent",
                    attempt_id=attempt,
                ) from error
            else:
                return {"output": "print(42)"}
        raise limit

    async def sandbox(self, body: Body) -> Body:
        """Resources server: run the model's answer in a process of its own."""
        exit_code = await run_in_sandbox(body["program"])
        if exit_code == 0:
            return {"exit_code": 0}
        try:
            raise NgFailureEvent(
                "sandbox:killed",
                f"the process was killed by signal {-exit_code}",
                boundary=FailureBoundary.SANDBOX,
                details={"provider": "subprocess", "exit_code": exit_code},
            )
        except NgFailureEvent as killed:
            raise NgFailureEvent(
                "session_lost", "the sandbox is gone", boundary=FailureBoundary.RESOURCES_SERVER, stage="agent"
            ) from killed

    async def verify(self, body: Body) -> Body:
        """Judge: a verdict that cannot be read is a failure behind a 200, as in Gym."""
        verdict: str = body["verdict"]
        try:
            return {"reward": json.loads(verdict)["score"]}
        except ValueError as error:
            unparseable = NgFailureEvent(
                "judge_unparseable",
                "the judge's verdict is no JSON",
                boundary=FailureBoundary.RESOURCES_SERVER,
                stage="verification",
            )
            unparseable.__cause__ = error
            failgraph.record(unparseable, own=True)
            return {"reward": 0.0}

    async def answer(self) -> JSONResponse:
        """Stands for a provider that answers."""
        return JSONResponse({})

    async def limited(self) -> JSONResponse:
        """Stands for a provider that says 429 once."""
        return JSONResponse({}, next(self._limited, 200))

    def app(self) -> FastAPI:
        """The FastAPI application."""
        app = FastAPI()
        for path, serve in (
            ("/run", self.run),
            ("/v1/responses", self.responses),
            ("/sandbox", self.sandbox),
            ("/verify", self.verify),
        ):
            app.post(path, response_model=None)(_route(serve))
        app.post("/provider/answers", response_model=None)(self.answer)
        app.post("/provider/limited", response_model=None)(self.limited)
        return app


def _route(serve: Callable[[Body], Awaitable[Body]]) -> Callable[[Body], Awaitable[JSONResponse]]:
    async def route(body: Body) -> JSONResponse:
        return await _hop(serve, body)

    return route


@contextmanager
def serving(provider: TracerProvider) -> Iterator[str]:
    """The service on a free port of loopback, traced by OpenTelemetry's own instrumentations; its URL."""
    with silent_server() as silent:
        peer = httpx.AsyncClient(timeout=10, trust_env=False)
        outside = httpx.AsyncClient(timeout=MODEL_TIMEOUT_S, trust_env=False)
        providers = {"silent": silent, "closed": closed_port_url()}
        app = Service(peer, outside, providers).app()
        for client in (peer, outside):
            HTTPXClientInstrumentor.instrument_client(client, tracer_provider=provider)
        FastAPIInstrumentor.instrument_app(
            app, tracer_provider=provider, excluded_urls="/provider/", exclude_spans=["receive", "send"]
        )
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, name="failgraph-demo", daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{_port(server)}"
        peer.base_url = httpx.URL(url)
        providers.update(answers=f"{url}/provider/answers", limited=f"{url}/provider/limited")
        try:
            yield url
        finally:
            server.should_exit = True
            thread.join(_START_S)


def _port(server: uvicorn.Server) -> int:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if server.started:
            port: int = server.servers[0].sockets[0].getsockname()[1]
            return port
        time.sleep(0.01)
    raise RuntimeError(f"the demo's service did not start within {_START_S:g} s")
