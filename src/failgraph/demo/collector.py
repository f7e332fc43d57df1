"""The collector: runs all rollouts at once, each in its own trace, and prints the results."""

from __future__ import annotations

import asyncio
import sys

import httpx
from opentelemetry import trace

import failgraph
from failgraph import NgFailureEvent
from failgraph.demo.fleet import SERVERS
from failgraph.demo.rollouts import ROLLOUTS, Rollout
from failgraph.demo.server import demo_has_ended, server_url, start_tracing
from failgraph.semconv import ROLLOUT_ID

_START_S = 30.0


async def run_rollouts() -> None:
    """Run all rollouts and print one line for each."""
    async with httpx.AsyncClient(timeout=10, trust_env=False) as client:
        answers = await asyncio.gather(*(run_rollout(rollout, client) for rollout in ROLLOUTS))
    for rollout, answer in zip(ROLLOUTS, answers, strict=True):
        print(f"{rollout.id:<20}{answer}")


async def run_rollout(rollout: Rollout, client: httpx.AsyncClient) -> str:
    """Run one rollout. Return the reward, or status and body of the agent's reply."""
    tracer = trace.get_tracer("failgraph.demo")
    try:
        with (
            tracer.start_as_current_span("rollout", attributes={ROLLOUT_ID: rollout.id}),
            failgraph.hop(),
        ):
            reply = await client.post(f"{server_url('agent')}/run", json=rollout._asdict())
            check_reply(reply)
    except (NgFailureEvent, httpx.HTTPStatusError):
        return f"{reply.status_code} {reply.text}"
    return f"reward {reply.json()['reward']}"


def check_reply(reply: httpx.Response) -> None:
    """Raise or record the failure that a reply reports as the rollout's own.

    A 200 may name the id of a failure: Gym replies so if a judge fails.
    """
    try:
        failgraph.raise_for_failure(reply)
    except NgFailureEvent as remote:
        status = reply.status_code
        raise NgFailureEvent(
            "agent_request_failed",
            f"/run answered {status}",
            http_status=status,
            boundary="collection",
        ) from remote
    reply.raise_for_status()
    event = failgraph.current_report().events.get(reply.json()["failure_id"])
    if event is not None:
        failgraph.record(NgFailureEvent.from_record(event), own=True)


async def wait_for_servers() -> None:
    """Wait until every server answers. Their sockets are open already, so requests only wait."""
    async with httpx.AsyncClient(timeout=_START_S, trust_env=False) as client:
        for server in SERVERS:
            try:
                await client.get(f"{server_url(server)}/health")
            except httpx.TransportError:
                if demo_has_ended():
                    sys.exit()
                sys.exit(f"failgraph: the demo's {server} server did not start")


if __name__ == "__main__":
    asyncio.run(wait_for_servers())
    start_tracing("collector")
    asyncio.run(run_rollouts())
    failgraph.flush()
