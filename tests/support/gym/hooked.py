"""Run each hook on the NeMo Gym that is installed, in process: `python hooked.py`.

Prints one JSON object: the hook targets that this version lacks, and for each fault the failures in
its trace.
"""

import asyncio
import contextlib
import json
import socket
from typing import Any

import httpx
from opentelemetry import trace
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

from nemo_gym import rollout_collection  # noqa: E402
from nemo_gym.base_resources_server import (  # noqa: E402
    BaseResourcesServerConfig,
    SimpleResourcesServer,
)
from nemo_gym.config_types import BaseServerConfig  # noqa: E402
from nemo_gym.judge import JudgeError, reraise_judge_errors  # noqa: E402
from nemo_gym.sandbox.api import AsyncSandbox  # noqa: E402
from nemo_gym.sandbox.providers.base import SandboxCreateError, SandboxSpec  # noqa: E402
from nemo_gym.server_utils import ServerClient  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402
from pydantic import BaseModel, ConfigDict  # noqa: E402

from failgraph.instrumentation import hooks  # noqa: E402


class Body(BaseModel):
    model_config = ConfigDict(extra="allow")
    fault: str
    response: dict = {}


class FaultyProvider:
    name = "faulty"

    async def create(self, spec: Any) -> Any:
        raise SandboxCreateError("no capacity")


async def refused() -> None:
    raise ConnectionRefusedError("judge is not there")


class Resources(SimpleResourcesServer):
    async def verify(self, body: Body) -> Any:
        if body.fault == "judge":
            await reraise_judge_errors(refused())
        if body.fault == "sandbox":
            await AsyncSandbox(FaultyProvider()).start(SandboxSpec(image="none"))
        raise ValueError("verify exploded")


def free_port() -> int:
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def client() -> ServerClient:
    nobody = {"resources_servers": {"nobody": {"host": "127.0.0.1", "port": free_port()}}}
    head = BaseServerConfig(host="127.0.0.1", port=1)
    return ServerClient(
        head_server_config=head, global_config_dict=OmegaConf.create({"nobody": nobody})
    )


def recorded() -> list[str]:
    """Return the exported failures in the order that they were recorded, and forget them."""
    events = [event for span in exporter.get_finished_spans() for event in span.events]
    found = [event for event in events if event.name == "nemo.gym.failure"]
    key = "nemo.gym.failure."
    found.sort(key=lambda event: event.attributes[f"{key}seq"])
    exporter.clear()
    return [
        " ".join(
            str(event.attributes.get(key + name, "-")) for name in ("boundary", "kind", "stage")
        )
        for event in found
    ]


async def main() -> dict[str, Any]:
    here = {"host": "127.0.0.1", "port": 1, "entrypoint": "app.py", "name": "rs", "domain": "agent"}
    server = Resources(config=BaseResourcesServerConfig(**here), server_client=client())
    app = server.setup_webserver()
    server.setup_exception_middleware(app)
    FastAPIInstrumentor.instrument_app(app)
    found: dict[str, Any] = {}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://rs"
    ) as http:
        for fault in ("verify", "judge", "sandbox"):
            reply = await http.post("/verify", json={"fault": fault})
            found[fault] = [reply.status_code, *recorded()]
    with trace.get_tracer("collector").start_as_current_span("collecting"):
        row = {"_ng_task_index": 3, "_ng_rollout_index": 1}
        calling = asyncio.create_task(client().post("nobody", "/run", json=row))
        await asyncio.wait([calling], timeout=1)
        calling.cancel()
        await asyncio.wait([calling])
    (attempt,) = [
        span for span in exporter.get_finished_spans() if span.name == "nemo.gym.rollout_attempt"
    ]
    found["rollout"] = attempt.attributes["nemo.gym.rollout.id"]
    found["refused"] = recorded()
    failure_row = getattr(rollout_collection, "_agent_request_failure_row", None)
    if failure_row is not None:
        with trace.get_tracer("collector").start_as_current_span("collecting"):
            failure_row(JudgeError("any"), 503)
        found["row"] = recorded()
    return found


print(json.dumps({"found": asyncio.run(main()), "missing": sorted(hooks.missing())}))
