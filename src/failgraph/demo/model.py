"""The model server: calls a provider, and retries if it answers 429."""

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
    """Run the providers while the server runs."""
    async with external_services() as app.state.providers:
        yield
    failgraph.flush()


app = FastAPI(lifespan=lifespan)
client = httpx.AsyncClient(timeout=PROVIDER_TIMEOUT_S, trust_env=False)


@app.exception_handler(NgFailureEvent)
async def unavailable(request: Request, error: NgFailureEvent) -> JSONResponse:  # noqa: ARG001 - passed by FastAPI
    """Answer every failure of the model with 503."""
    return JSONResponse({"detail": str(error)}, 503)


@app.post("/v1/responses")
async def responses(request: Request, body: Body) -> Body:
    """Call the provider, at most three times."""
    provider = request.app.state.providers[body["provider"]]
    for attempt in range(1, TRIES):
        try:
            return await ask(provider, attempt)
        except NgFailureEvent as error:
            if error.http_status != 429:
                raise
            await asyncio.sleep(PAUSE_S)
    return await ask(provider, TRIES)


async def ask(provider: str, attempt: int) -> Body:
    """Call the provider once."""
    try:
        reply = await client.post(provider)
    except httpx.TimeoutException as error:
        reason = f"no answer within {PROVIDER_TIMEOUT_S:g} s"
        raise failure("transport_timeout", reason, attempt) from error
    except httpx.TransportError as error:
        raise failure("transport_unreachable", "cannot connect to the provider", attempt) from error
    if reply.status_code == 429:
        reason = "the provider limits requests"
        raise failure("provider_quota_exhausted", reason, attempt, http_status=429)
    reply.raise_for_status()
    return {"output": "print(42)"}


def failure(kind: str, reason: str, attempt: int, http_status: int | None = None) -> NgFailureEvent:
    """Return a failure of one call."""
    return NgFailureEvent(
        kind, reason, http_status=http_status, boundary="model", attempt_id=str(attempt)
    )


if __name__ == "__main__":
    serve(app, "model")
