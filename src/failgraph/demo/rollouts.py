"""The collection side of the demo: one trace a rollout, with the failure of its reply at the end of the chain."""

from __future__ import annotations

from typing import NamedTuple

import httpx
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.sdk.trace import TracerProvider

import failgraph
from failgraph import FailureBoundary, NgFailureEvent
from failgraph.demo.service import observe
from failgraph.semconv import ROLLOUT_ID


class Rollout(NamedTuple):
    """One rollout: which provider its model asks, what the sandbox runs, what the judge says."""

    id: str
    provider: str = "answers"
    program: str = "pass"
    verdict: str = '{"score": 1.0}'


ROLLOUTS = (
    Rollout("clean"),
    Rollout("rate-limited", provider="limited"),
    Rollout("model-refused", provider="closed"),
    Rollout("model-timeout", provider="silent"),
    Rollout("sandbox-killed", program="while True: pass"),
    Rollout("judge-unparseable", verdict="Well, I would say 7 of 10."),
)


def drive(rollout: Rollout, url: str, provider: TracerProvider) -> None:
    """Run one rollout as a hop of its own; a reply that is a failure makes the rollout one."""
    tracer = provider.get_tracer("failgraph.demo")
    with (
        httpx.Client(timeout=10, trust_env=False) as client,
        tracer.start_as_current_span("rollout", attributes={ROLLOUT_ID: rollout.id}),
    ):
        HTTPXClientInstrumentor.instrument_client(client, tracer_provider=provider)
        with failgraph.hop():
            reply = client.post(f"{url}/run", json=rollout._asdict())
            failure = observe(reply)
            if reply.status_code != 200:
                cause = failure
                failure = NgFailureEvent(
                    "agent_request_failed",
                    f"/run answered {reply.status_code}",
                    http_status=reply.status_code,
                    boundary=FailureBoundary.COLLECTION,
                )
                failure.__cause__ = cause
            # A failure behind a 200, a judge's for one, is the rollout's own all the same.
            if failure is not None:
                failgraph.record(failure, own=True)
