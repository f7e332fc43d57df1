"""One server of a real NeMo Gym fleet: `python servers.py NAME`.

Its requests say how it fails.
"""

import asyncio
import json
import sys
from typing import Any

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, ConfigDict

NAME = sys.argv[1] if __name__ == "__main__" else ""


def resources() -> Any:
    from nemo_gym.base_resources_server import (
        BaseResourcesServerConfig,
        BaseVerifyRequest,
        BaseVerifyResponse,
        SimpleResourcesServer,
    )
    from nemo_gym.config_types import ModelServerRef
    from nemo_gym.judge import call_judge
    from nemo_gym.openai_utils import NeMoGymResponse
    from nemo_gym.sandbox.api import AsyncSandbox
    from nemo_gym.sandbox.providers.base import SandboxSpec

    class Config(BaseResourcesServerConfig):
        judge_model_server: ModelServerRef

    class Body(BaseVerifyRequest):
        model_config = ConfigDict(extra="allow")

    class Answer(BaseVerifyResponse):
        model_config = ConfigDict(extra="allow")

    class Anything(BaseModel):
        model_config = ConfigDict(extra="allow")

    class Resources(SimpleResourcesServer):
        ray_enabled = False
        config: Config

        def setup_webserver(self) -> FastAPI:
            app = super().setup_webserver()

            @app.post("/boom")
            async def boom() -> dict:
                raise RuntimeError("tool exploded")

            return app

        async def seed_session(self, body: Anything) -> dict:
            if getattr(body, "rs_fault", None) == "seed":
                raise LookupError("no such session")
            return {"resources_session_id": getattr(body, "resources_session_id", "")}

        async def verify(self, body: Body) -> Answer:
            extra = body.model_extra or {}
            fault = extra.get("rs_fault")
            if fault == "verify":
                raise ValueError("verify exploded")
            if fault == "by-hand":
                import failgraph

                raise failgraph.NgFailureEvent("verifier_error", "says not who")
            if fault == "http503":
                raise HTTPException(503, "busy")
            if "judge" in extra:
                await call_judge(
                    self.server_client,
                    server_name=self.config.judge_model_server.name,
                    url_path="/v1/responses",
                    json={"input": extra["judge"]},
                    response_model=NeMoGymResponse,
                )
            if fault == "named":
                return Answer(
                    **body.model_dump(),
                    reward=0.0,
                    mask_sample=True,
                    failure_kind="verifier_error",
                    failure_reason="no",
                )
            if fault and fault.startswith("sandbox-"):
                await sandboxed(fault)
            return Answer(**body.model_dump(), reward=1.0)

    async def sandboxed(fault: str) -> None:
        sandbox = AsyncSandbox(FaultyProvider(fault))
        await sandbox.start(SandboxSpec(image="none"))
        run = sandbox.pty.exec if fault == "sandbox-pty" else sandbox.exec
        result = await run("true", timeout_s=0.1)
        assert result.return_code == 0 or result.error_type, result
        await sandbox.stop()

    return Resources


class FaultyProvider:
    """A sandbox provider with one operation that fails."""

    name = "faulty"

    def __init__(self, fault: str) -> None:
        self.fault = fault

    async def create(self, spec: Any) -> Any:
        from nemo_gym.sandbox.providers.base import SandboxCreateError, SandboxHandle

        if self.fault == "sandbox-start":
            raise SandboxCreateError("no capacity")
        return SandboxHandle("box-1", self.name, None)

    async def exec(self, handle: Any, command: str, **_: Any) -> Any:
        from nemo_gym.sandbox.providers.base import SandboxExecResult

        if self.fault == "sandbox-exec":
            raise ConnectionResetError("lost the sandbox")
        error_type = {"sandbox-timeout": "timeout", "sandbox-oom": "oom"}.get(self.fault)
        return SandboxExecResult("", "", 125 if error_type else 0, error_type)

    async def create_pty(self, handle: Any, spec: Any) -> Any:
        return SilentTerminal()

    async def attach_pty(self, handle: Any, session_id: str, **_: Any) -> Any:
        return SilentTerminal()

    async def close(self, handle: Any) -> None:
        if self.fault == "sandbox-stop":
            raise RuntimeError("will not stop")

    async def aclose(self) -> None:
        pass


class SilentTerminal:
    """A terminal session in which no command ends."""

    session_id, closed = "pty-1", False

    async def read(self, **_: Any) -> bytes:
        await asyncio.sleep(60)
        return b""

    read_stderr = wait_exit = read

    async def close(self) -> None:
        pass


def agent() -> Any:
    from responses_api_agents.simple_agent.app import (
        SimpleAgent,
        SimpleAgentRunRequest,
        SimpleAgentVerifyResponse,
    )
    from starlette.requests import Request

    class Agent(SimpleAgent):
        async def run(
            self, request: Request, body: SimpleAgentRunRequest
        ) -> SimpleAgentVerifyResponse:
            if (body.model_extra or {}).get("agent_fault"):
                raise KeyError("agent exploded")
            return await super().run(request, body)

    return Agent


def relay() -> Any:
    from environment_servers.legacy_agent.app import LegacyAgentEnvironmentServer

    class Relay(LegacyAgentEnvironmentServer):
        ray_enabled = False

    return Relay


def turn() -> Any:
    from environment_servers.single_agent_turn.app import SingleAgentTurnEnvironmentServer

    class Turn(SingleAgentTurnEnvironmentServer):
        ray_enabled = False

    return Turn


def environment() -> Any:
    from nemo_gym.base_environment_server import (
        BaseEnvironmentServer,
        BaseEnvironmentServerConfig,
        CleanupContext,
        HandledEpisodeError,
    )
    from nemo_gym.config_types import AggregateMetrics
    from nemo_gym.episode_types import BaseEpisodeRequest, BaseEpisodeResponse, EpisodeFailure

    class In(BaseModel):
        model_config = ConfigDict(extra="allow")

    class Out(BaseModel):
        reward: float = 1.0

    Asked, Answered = BaseEpisodeRequest[In], BaseEpisodeResponse[Out]  # noqa: N806

    class Environment(BaseEnvironmentServer[Asked, Answered]):
        ray_enabled = False
        config: BaseEnvironmentServerConfig
        request_model = Asked
        response_model = Answered

        async def run(self, request: Asked, cleanup: CleanupContext) -> Answered:
            fault = (request.task.task_input.model_extra or {}).get("fault")
            if fault == "handled":
                raise HandledEpisodeError(
                    EpisodeFailure(
                        failure_reason="provider out of quota",
                        terminal=False,
                        failure_kind="provider_quota_exhausted",
                        stage="seed",
                    )
                )
            if fault == "unhandled":
                raise ZeroDivisionError("env exploded")
            if fault == "deadline":
                await asyncio.sleep(60)
            if fault == "returned":
                failure = EpisodeFailure(
                    failure_reason="gave up", terminal=True, failure_kind="session_lost"
                )
                return self.failure_response(request, failure)
            if fault and fault.startswith("cleanup"):

                async def close() -> None:
                    await asyncio.sleep(60 if fault == "cleanup-slow" else 0)
                    raise RuntimeError("cannot close")

                cleanup.register_cleanup("session", close)
            return Answered(
                episode_id=request.episode_id, task_id=request.task.task_id, result=Out()
            )

        async def aggregate_metrics(self, body: Any) -> AggregateMetrics:
            return AggregateMetrics()

    return Environment


SERVER_CLASSES = {"rs": resources, "agent": agent, "relay": relay, "env": environment, "turn": turn}


def activate_lens() -> None:
    """Add to nemo-lens 0.1.0 what Gym 0.7.0 needs of a later version."""
    import nemo.lens.semconv as names
    from nemo.lens.groups import SpanGroup

    names.NV_DL_RANK, names.NV_DL_WORLD_SIZE = "nv.dl.rank", "nv.dl.world_size"
    groups = ("job", "server", "http_client", "rollout", "verify", "agent", "model_call", "sandbox")
    SpanGroup.ALL_GROUPS = frozenset(SpanGroup.ALL_GROUPS) | frozenset(groups)
    SpanGroup._PRESETS = {**SpanGroup._PRESETS, "all": frozenset(SpanGroup.ALL_GROUPS)}


if __name__ == "__main__":
    import os

    if os.environ.get("NEMO_GYM_OTEL_ENABLED") == "1":
        activate_lens()
    if NAME in SERVER_CLASSES:
        SERVER_CLASSES[NAME]().run_webserver()
    elif NAME == "collect":
        from collect import collect

        collect(json.loads(sys.argv[2]))
    else:
        from responses_api_models.openai_model.app import SimpleModelServer

        SimpleModelServer.run_webserver()
