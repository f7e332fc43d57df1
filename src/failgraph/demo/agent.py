"""The agent server: calls the model, the environment and the verifier."""

from __future__ import annotations

import httpx
from fastapi import FastAPI

import failgraph
from failgraph import NgFailureEvent
from failgraph.demo.server import Body, answer_500, flush_on_exit, serve, server_url

MODEL_TIMEOUT_S = 1.5  # shorter than the model's own timeout for its provider

app = FastAPI(lifespan=flush_on_exit)
app.middleware("http")(answer_500)
client = httpx.AsyncClient(timeout=10, trust_env=False)


@app.post("/run")
async def run(body: Body) -> Body:
    """Run one episode."""
    await call("model", "/v1/responses", body, MODEL_TIMEOUT_S)
    await call("environment", "/step", body)
    return await call("resources", "/verify", body)


async def call(server: str, path: str, body: Body, timeout_s: float = 10) -> Body:
    """Call another server. Raise the agent's failure, caused by that of the server."""
    try:
        reply = await client.post(server_url(server) + path, json=body, timeout=timeout_s)
    except httpx.TransportError as error:
        timed_out = isinstance(error, httpx.TimeoutException)
        kind = "transport_timeout" if timed_out else "transport_unreachable"
        reason = f"{path} did not answer" + (f" within {timeout_s:g} s" if timed_out else "")
        raise NgFailureEvent(kind, reason, boundary="agent", operation=path) from error
    try:
        failgraph.raise_for_failure(reply)
    except NgFailureEvent as remote:
        reason = f"{path} answered {reply.status_code}"
        raise NgFailureEvent(
            "agent_run_error", reason, boundary="agent", operation=path
        ) from remote
    reply.raise_for_status()
    answer: Body = reply.json()
    return answer


if __name__ == "__main__":
    serve(app, "agent")
