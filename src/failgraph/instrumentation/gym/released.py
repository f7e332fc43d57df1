"""The hooks for NeMo Gym as it is released: 0.5.1, 0.6.0, 0.7.0. What one lacks is not hooked, the rest works.

Classes rather than functions where there is a choice: other modules import functions by name, and keep what they got if
they were imported before us.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from failgraph.instrumentation.hook_target import Target

TARGETS: Final[Mapping[str, tuple[Target, ...]]] = {
    "nemo_gym.server_utils": (
        Target(
            "SimpleServer", "setup_exception_middleware", "gym.serving:setup_exception_middleware"
        ),
        Target("ServerClient", "request", "gym.rollouts:request"),
        Target("", "get_response_json", "gym.rollouts:get_response_json"),
        Target("ClientSession", "_request", "gym.calls:request", "aiohttp.client"),
        Target(
            "ClientResponse",
            "raise_for_status",
            "gym.calls:raise_for_status",
            "aiohttp.client_reqrep",
        ),
    ),
    "nemo_gym.rollout_correlation": (
        Target("", "rollout_context", "gym.rollout_names:rollout_context"),
    ),
    "nemo_gym.judge": (Target("", "judge_failsafe", "gym.verifying:judge_failsafe"),),
    "nemo_gym.sandbox.api": (
        Target("AsyncSandbox", "start", "gym.sandboxes:start"),
        Target("AsyncSandbox", "exec", "gym.sandboxes:execute"),
        Target("AsyncSandbox", "stop", "gym.sandboxes:stop"),
        Target("SandboxPty", "exec", "gym.sandboxes:execute_in_pty"),
    ),
    # Since 0.6.0
    "nemo_gym.rollout_collection": (
        Target("", "_agent_request_failure_row", "gym.rollouts:agent_request_failure_row"),
        Target("RolloutCollectionHelper", "_run_from_config", "gym.rollouts:run_from_config"),
    ),
    # Since 0.7.0
    "nemo_gym.base_environment_server": (
        Target("BaseEnvironmentServer", "failure_response", "gym.episodes:failure_response"),
        Target("_CleanupEntry", "close", "gym.episodes:close"),
        Target("CleanupContext", "aclose", "gym.episodes:unwind"),
    ),
    "nemo_gym.telemetry.endpoints": (
        Target("", "traced_rollout_endpoint", "gym.rollouts:traced_rollout_endpoint"),
    ),
}
"""What is wrapped, by the module that has to be there."""
