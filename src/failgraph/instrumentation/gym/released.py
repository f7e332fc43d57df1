"""Hook targets in released NeMo Gym: 0.5.1, 0.6.0 and 0.7.0.

A target that a release lacks is not hooked, and the rest works. Methods are hooked rather than
functions where there is a choice: other modules import functions by name, and keep the original if
they were loaded before failgraph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from failgraph.instrumentation.hook_target import HookTarget

# By the module whose import is waited for.
TARGETS: Final[Mapping[str, tuple[HookTarget, ...]]] = {
    "nemo_gym.server_utils": (
        HookTarget(
            "SimpleServer", "setup_exception_middleware", "gym.serving:setup_exception_middleware"
        ),
        HookTarget("ServerClient", "request", "gym.rollout_attempts:request"),
        HookTarget("", "get_response_json", "gym.rollout_attempts:get_response_json"),
        HookTarget("ClientSession", "_request", "gym.calls:request", "aiohttp.client"),
        HookTarget(
            "ClientResponse",
            "raise_for_status",
            "gym.calls:raise_for_status",
            "aiohttp.client_reqrep",
        ),
    ),
    "nemo_gym.rollout_correlation": (
        HookTarget("", "rollout_context", "gym.rollout_names:rollout_context"),
    ),
    "nemo_gym.judge": (HookTarget("", "judge_failsafe", "gym.verifying:judge_failsafe"),),
    "nemo_gym.sandbox.api": (
        HookTarget("AsyncSandbox", "start", "gym.sandboxes:start"),
        HookTarget("AsyncSandbox", "exec", "gym.sandboxes:execute"),
        HookTarget("AsyncSandbox", "stop", "gym.sandboxes:stop"),
        HookTarget("SandboxPty", "exec", "gym.sandboxes:execute_in_pty"),
    ),
    # Since 0.6.0
    "nemo_gym.rollout_collection": (
        HookTarget(
            "", "_agent_request_failure_row", "gym.rollout_attempts:agent_request_failure_row"
        ),
        HookTarget(
            "RolloutCollectionHelper", "_run_from_config", "gym.rollout_hops:run_from_config"
        ),
    ),
    # Since 0.7.0
    "nemo_gym.base_environment_server": (
        HookTarget("BaseEnvironmentServer", "failure_response", "gym.episodes:failure_response"),
        HookTarget("_CleanupEntry", "close", "gym.episodes:close_cleanup"),
        HookTarget("CleanupContext", "aclose", "gym.episodes:close_all_cleanups"),
    ),
    "nemo_gym.telemetry.endpoints": (
        HookTarget("", "traced_rollout_endpoint", "gym.rollout_hops:traced_rollout_endpoint"),
    ),
}
