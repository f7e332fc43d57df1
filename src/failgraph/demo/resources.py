"""The resources server: asks a judge for a reward. If the judge fails it answers 200, like Gym."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI, Request

import failgraph
from failgraph import NgFailureEvent
from failgraph.demo.faults import external_services
from failgraph.demo.server import Body, serve

JUDGE_TIMEOUT_S = 1.5


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Run the judges while the server runs."""
    async with external_services() as app.state.judges:
        yield
    failgraph.flush()


app = FastAPI(lifespan=lifespan)
client = httpx.AsyncClient(timeout=JUDGE_TIMEOUT_S, trust_env=False)


@app.post("/verify")
async def verify(request: Request, body: Body) -> Body:
    """Return the reward, or 0 and the id of the failure."""
    try:
        return {
            "reward": await judge(request.app.state.judges[body["judge"]], body["verdict"]),
            "failure_id": None,
        }
    except NgFailureEvent as failed:
        recorded = failgraph.record(failed, own=True)
        return {"reward": 0.0, "failure_id": recorded.event_id}


async def judge(url: str, verdict: str) -> float:
    """Return the score of the judge's verdict."""
    try:
        reply = await client.post(url, content=verdict)
        reply.raise_for_status()
        score: float = json.loads(reply.text)["score"]
    except httpx.TimeoutException as error:
        raise failure("judge_failed", f"no verdict within {JUDGE_TIMEOUT_S:g} s") from error
    except ValueError as error:
        raise failure("judge_unparseable", "the verdict is not JSON") from error
    return score


def failure(kind: str, reason: str) -> NgFailureEvent:
    """Return a failure of the verification."""
    return NgFailureEvent(kind, reason, boundary="resources_server", stage="verification")


if __name__ == "__main__":
    serve(app, "resources")
