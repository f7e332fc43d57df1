"""Environment servers: an episode that failed is answered with a 200, however it came to that."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from failgraph.diagnostics import guard
from failgraph.failure.boundary import FailureBoundary
from failgraph.instrumentation import hooks
from failgraph.instrumentation.gym.current_request import current_gym_request
from failgraph.instrumentation.gym.observing import GymFailure, record_failure, record_raised
from failgraph.instrumentation.gym.on_exception import on_exception
from failgraph.text import safe_str

_RUN = "POST /run"
_DEFAULT_KIND = "environment_server_failed"
"""Gym's own label of a failed episode whose kind nobody gave."""
_CLOCK_TOLERANCE_S = 0.01
"""By which the event loop's clock may be behind."""


def failure_response(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`BaseEnvironmentServer.failure_response(request, failure)`: handled, unhandled, timed out, and given by hand."""
    with guard("a failed episode"):
        failure = args[1] if len(args) > 1 else kwargs.get("failure")
        if not hasattr(failure, "failure_reason"):
            hooks.note_unfit(
                "nemo_gym.base_environment_server.BaseEnvironmentServer.failure_response",
                f"its second argument is {type(failure).__name__}, and no failure",
            )
        else:
            _record_episode_failure(failure)
    return wrapped(*args, **kwargs)


def _record_episode_failure(failure: Any) -> None:
    kind, stage = getattr(failure, "failure_kind", None), getattr(failure, "stage", None)
    what = GymFailure(
        FailureBoundary.ENVIRONMENT,
        kind or _DEFAULT_KIND,
        stage,
        _RUN,
        reason=safe_str(failure.failure_reason),
    )
    error = sys.exc_info()[1]
    if isinstance(error, Exception):
        record_raised(what, error)
    else:
        record_failure(what, own=True)


async def close_cleanup(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`_CleanupEntry.close()`: Gym logs what a clean-up raises, and goes on."""
    what = GymFailure(
        current_gym_request().boundary,
        "session_release_failed",
        "cleanup",
        f"cleanup {safe_str(getattr(instance, 'name', ''))}",
    )
    with on_exception("a failing clean-up", lambda error: record_raised(what, error, own=False)):
        return await wrapped(*args, **kwargs)


async def close_all_cleanups(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`CleanupContext.aclose()`: Gym logs that the time for all clean-ups is over, and goes on."""
    began = time.monotonic()
    closed = await wrapped(*args, **kwargs)
    with guard("a clean-up out of time"):
        limit, cleanups = instance.cleanup_timeout_seconds, vars(instance)["_cleanups"]
        if time.monotonic() - began > limit - _CLOCK_TOLERANCE_S and any(
            each.active for each in cleanups
        ):
            reason = f"the clean-ups were not done within {limit:g} s"
            record_failure(
                GymFailure(
                    current_gym_request().boundary,
                    "session_release_failed",
                    "cleanup",
                    "cleanup",
                    reason=reason,
                )
            )
    return closed
