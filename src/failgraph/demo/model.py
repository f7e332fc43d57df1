"""The model server: asks a provider, and again where that says that we are too fast."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

import failgraph
from failgraph import NgFailureEvent
from failgraph.demo.faults import external_services
from failgraph.demo.server import Body, serve

PROVIDER_TIMEOUT_S = 2.0
TRIES = 3
PAUSE_S = 0.05


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """The providers are there as long as the server is."""
    async with external_services() as app.state.providers:
        yield
    failgraph.flush()


app = FastAPI(lifespan=lifespan)
client = httpx.AsyncClient(timeout=PROVIDER_TIMEOUT_S, trust_env=False)


@app.exception_handler(NgFailureEvent)
async def unavailable(request: Request, failure: NgFailureEvent) -> JSONResponse:  # noqa: ARG001 - FastAPI gives it
    """Every failure of the model is a 503."""
    return JSONResponse({"detail": str(failure)}, 503)


@app.post("/v1/responses")
async def responses(request: Request, body: Body) -> Body:
    """Ask the provider, at most three times."""
    provider = request.app.state.providers[body["provider"]]
    for attempt in range(1, TRIES):
        try:
            return await ask(provider, attempt)
        except NgFailureEvent as failure:
            if failure.http_status != 429:
                raise
            await asyncio.sleep(PAUSE_S)
    return await ask(provider, TRIES)


async def ask(provider: str, attempt: int) -> Body:
    """Ask the provider once."""
    try:
        reply = await client.post(provider)
    except httpx.TransportError as error:
        timed_out = isinstance(error, httpx.TimeoutException)
        raise NgFailureEvent(
            "transport_timeout" if timed_out else "transport_unreachable",
            f"no answer within {PROVIDER_TIMEOUT_S:g} s"
            if timed_out
            else "the provider cannot be reached",
            boundary="model",
            attempt_id=str(attempt),
        ) from error
    if reply.status_code == 429:
        raise NgFailureEvent(
            "provider_quota_exhausted",
            "the provider asks to slow down",
            http_status=429,
            boundary="model",
            attempt_id=str(attempt),
        )
    reply.raise_for_status()
    return {"output": "print(42)"}


if __name__ == "__main__":
    serve(app, "model")
