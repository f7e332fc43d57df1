"""Sandboxes: what their start, their commands and their stop raise, and commands that never ran to an exit code.

A blocking `Sandbox` does its work on an `AsyncSandbox`, in another thread and the same context.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from failgraph.diagnostics import guard
from failgraph.failure.boundary import FailureBoundary
from failgraph.failure.kinds import UNHANDLED
from failgraph.instrumentation.gym.observing import GymFailure, record_failure, record_raised
from failgraph.instrumentation.gym.on_exception import on_exception
from failgraph.instrumentation.gym.vocabulary import kind_of_exception, kind_of_sandbox

Wrapped = Callable[..., Any]


def _sandbox_failure(
    sandbox: Any, operation: str, kind: str, stage: str | None = None, error_type: str | None = None
) -> GymFailure:
    details = {
        "provider": getattr(getattr(sandbox, "_provider", None), "name", None),
        "sandbox_id": getattr(getattr(sandbox, "_handle", None), "sandbox_id", None),
        "provider_status_reason": error_type,
    }
    reason = None if error_type is None else f"the sandbox could not run the command: {error_type}"
    return GymFailure(
        FailureBoundary.SANDBOX, kind, stage, operation, details=details, reason=reason
    )


def _recording_exceptions(
    sandbox: Any, operation: str, stage: str | None = None, otherwise: str = UNHANDLED
) -> on_exception:
    def look(error: Exception) -> None:
        record_raised(
            _sandbox_failure(sandbox, operation, kind_of_exception(error, otherwise), stage),
            error,
            own=False,
        )

    return on_exception("a failing sandbox", look)


async def start(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`AsyncSandbox.start()`."""
    with _recording_exceptions(instance, "sandbox.start"):
        return await wrapped(*args, **kwargs)


async def execute(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`AsyncSandbox.exec(command)`: the command itself is never looked at."""
    return await _run_command(instance, "sandbox.exec", wrapped, args, kwargs)


async def execute_in_pty(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`SandboxPty.exec(command)`: likewise, in a terminal of the sandbox."""
    return await _run_command(
        getattr(instance, "_sandbox", None), "sandbox.pty.exec", wrapped, args, kwargs
    )


async def _run_command(
    sandbox: Any, operation: str, wrapped: Wrapped, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A command that came back failed as a sandbox's only where Gym says so, whatever its exit code."""
    with _recording_exceptions(sandbox, operation):
        result = await wrapped(*args, **kwargs)
    with guard("a failing sandbox"):
        error_type = getattr(result, "error_type", None)
        if isinstance(error_type, str) and error_type:
            record_failure(
                _sandbox_failure(
                    sandbox, operation, kind_of_sandbox(error_type), error_type=error_type
                )
            )
    return result


async def stop(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`AsyncSandbox.stop()`."""
    with _recording_exceptions(instance, "sandbox.stop", "cleanup", "session_release_failed"):
        return await wrapped(*args, **kwargs)
