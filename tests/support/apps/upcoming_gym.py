"""A server on the stand-in for the upcoming NeMo Gym.

Prints its replies and what its traces hold, as one JSON object.
"""

import asyncio
import json
import sys
from typing import Any

import httpx
from fastapi import FastAPI
from opentelemetry import trace
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

from nemo_gym.core import failure_transport  # noqa: E402
from nemo_gym.core.failure_records import FailureBoundary, FailureEvent, FailureReport  # noqa: E402
from nemo_gym.core.typed_exceptions import NgFailureEvent  # noqa: E402
from nemo_gym.server_runtime.request_handling import exception_handling  # noqa: E402
from starlette.responses import JSONResponse  # noqa: E402

from failgraph.instrumentation import hooks  # noqa: E402

if "strange" in sys.argv:
    failure_transport.FailureHeader.decode = None
app = FastAPI()


@app.get("/recovered")
async def recovered() -> dict:
    failure_transport.observe_failure(
        NgFailureEvent("provider_unavailable", "try 1", 503, None, FailureBoundary.MODEL)
    )
    return {}


@app.get("/relayed")
async def relayed() -> dict:
    event = FailureEvent(
        event_id="theirs",
        failure_kind="judge_failed",
        boundary=FailureBoundary.RESOURCES_SERVER,
        failure_reason="password=hunter2-and-more",
    )
    failure_transport.observe_reply(
        report=FailureReport(events={"theirs": event}, failure_id="theirs")
    )
    return {}


@app.get("/raises")
async def raises() -> dict:
    try:
        raise NgFailureEvent("transport_timeout", "slow", None, None, FailureBoundary.MODEL)
    except NgFailureEvent as cause:
        raise NgFailureEvent(
            "agent_run_error", "gave up", None, None, FailureBoundary.AGENT
        ) from cause


@app.middleware("http")
async def between(request: Any, call_next: Any) -> Any:
    if request.url.path == "/outside":
        raise NgFailureEvent(
            "agent_run_error", "no route saw it", None, None, FailureBoundary.AGENT
        )
    return await call_next(request)


app.add_middleware(
    exception_handling.ExceptionHandlingMiddleware,
    failure_reply=lambda error: JSONResponse({"failed": str(error)}, status_code=502),
)
FastAPIInstrumentor.instrument_app(app)


async def main() -> dict[str, Any]:
    found = {}
    transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        for path in ("recovered", "relayed", "raises", "outside"):
            reply = await http.get(f"/{path}", headers={"x-ng-failure-accept": "1"})
            values = reply.headers.get_list("x-ng-failure-report")
            spans = exporter.get_finished_spans()
            events = [event.attributes for span in spans for event in span.events]
            own_ids = [span.attributes.get("nemo.gym.failure.report.id") for span in spans]
            exporter.clear()
            found[path] = {
                "status": reply.status_code,
                "headers": values,
                "own": next(filter(None, own_ids), None),
                "events": [
                    {key.rpartition("failure.")[2]: value for key, value in each.items()}
                    for each in events
                    if "nemo.gym.failure.id" in each
                ],
            }
    return found


print(json.dumps({"found": asyncio.run(main()), "missing": dict(hooks.missing())}))
