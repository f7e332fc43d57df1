"""Environment servers: a failed episode is answered with a 200, whichever way it failed."""

from __future__ import annotations

import sys
import time
from typing import Any

from failgraph.diagnostics import guard
from failgraph.failure.boundary import FailureBoundary
from failgraph.instrumentation import hooks
from failgraph.instrumentation.gym.current_request import current_gym_request
from failgraph.instrumentation.gym.observing import GymFailure, record_failure, record_raised
from failgraph.instrumentation.gym.on_exception import on_exception
from failgraph.instrumentation.hook_target import Wrapped
from failgraph.text import safe_str

_OPERATION = "POST /run"
_DEFAULT_KIND = "environment_server_failed"  # Gym's own label of a failed episode without a kind
_CLEANUP_KIND = "session_release_failed"
_CLOCK_TOLERANCE_S = 0.01  # the event loop's clock may be behind by this


def failure_response(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `BaseEnvironmentServer.failure_response(request, failure)`: record the failure.

    Gym calls it for a handled and an unhandled exception and for a timeout, a server by itself.
    """
    with guard("recording a failed episode"):
        failure = args[1] if len(args) > 1 else kwargs.get("failure")
        if hasattr(failure, "failure_reason"):
            _record_episode_failure(failure)
        else:
            hooks.note_unfit(
                "nemo_gym.base_environment_server.BaseEnvironmentServer.failure_response",
                f"its second argument is {type(failure).__name__}, not a failure",
            )
    return wrapped(*args, **kwargs)


def _record_episode_failure(episode_failure: Any) -> None:
    failure = GymFailure(
        FailureBoundary.ENVIRONMENT,
        getattr(episode_failure, "failure_kind", None) or _DEFAULT_KIND,
        getattr(episode_failure, "stage", None),
        _OPERATION,
        reason=safe_str(episode_failure.failure_reason),
    )
    error = sys.exc_info()[1]
    if isinstance(error, Exception):
        record_raised(failure, error)
    else:
        record_failure(failure, own=True)


async def close_cleanup(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `_CleanupEntry.close()`: record what a cleanup raises, which Gym only logs."""
    name = safe_str(getattr(instance, "name", ""))
    failure = _cleanup_failure(f"cleanup {name}")
    with on_exception(
        "recording a failed cleanup", lambda error: record_raised(failure, error, own=False)
    ):
        return await wrapped(*args, **kwargs)


async def close_all_cleanups(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `CleanupContext.aclose()`: record that the cleanups timed out, which Gym only logs."""
    began = time.monotonic()
    closed = await wrapped(*args, **kwargs)
    with guard("recording a cleanup timeout"):
        limit_s, cleanups = instance.cleanup_timeout_seconds, vars(instance)["_cleanups"]
        is_timed_out = time.monotonic() - began > limit_s - _CLOCK_TOLERANCE_S
        if is_timed_out and any(cleanup.active for cleanup in cleanups):
            reason = f"the cleanups did not finish within {limit_s:g} s"
            record_failure(_cleanup_failure("cleanup", reason))
    return closed


def _cleanup_failure(operation: str, reason: str | None = None) -> GymFailure:
    boundary = current_gym_request().boundary
    return GymFailure(boundary, _CLEANUP_KIND, "cleanup", operation, reason=reason)
