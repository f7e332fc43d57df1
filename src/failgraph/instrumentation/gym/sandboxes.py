"""Sandboxes: exceptions of their start, commands and stop, and commands that could not be run.

A blocking `Sandbox` works on an `AsyncSandbox`, in another thread and in the same context.
"""

from __future__ import annotations

from typing import Any

from failgraph.diagnostics import guard
from failgraph.failure.boundary import FailureBoundary
from failgraph.failure.kinds import UNHANDLED
from failgraph.instrumentation.gym.observing import GymFailure, record_failure, record_raised
from failgraph.instrumentation.gym.on_exception import on_exception
from failgraph.instrumentation.gym.vocabulary import kind_of_exception, kind_of_sandbox
from failgraph.instrumentation.hook_target import Wrapped


async def start(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `AsyncSandbox.start()`: record what it raises."""
    with _recording_exceptions(instance, "sandbox.start"):
        return await wrapped(*args, **kwargs)


async def execute(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `AsyncSandbox.exec(command)`. The command itself is never looked at."""
    with _recording_exceptions(instance, "sandbox.exec"):
        result = await wrapped(*args, **kwargs)
    _record_error_type(instance, "sandbox.exec", result)
    return result


async def execute_in_pty(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `SandboxPty.exec(command)`: the same in a terminal of the sandbox."""
    sandbox = getattr(instance, "_sandbox", None)
    with _recording_exceptions(sandbox, "sandbox.pty.exec"):
        result = await wrapped(*args, **kwargs)
    _record_error_type(sandbox, "sandbox.pty.exec", result)
    return result


async def stop(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `AsyncSandbox.stop()`: record what it raises."""
    with _recording_exceptions(instance, "sandbox.stop", "cleanup", "session_release_failed"):
        return await wrapped(*args, **kwargs)


def _recording_exceptions(
    sandbox: Any, operation: str, stage: str | None = None, default_kind: str = UNHANDLED
) -> on_exception:
    def record(error: Exception) -> None:
        failure = _sandbox_failure(sandbox, operation, kind_of_exception(error, default_kind))
        record_raised(failure._replace(stage=stage), error, own=False)

    return on_exception("recording a sandbox failure", record)


def _record_error_type(sandbox: Any, operation: str, result: Any) -> None:
    """Record a command that could not be run. A command that ran and failed is no failure."""
    with guard("recording a sandbox failure"):
        error_type = getattr(result, "error_type", None)
        if isinstance(error_type, str) and error_type:
            failure = _sandbox_failure(sandbox, operation, kind_of_sandbox(error_type), error_type)
            reason = f"the sandbox could not run the command: {error_type}"
            record_failure(failure._replace(reason=reason))


def _sandbox_failure(
    sandbox: Any, operation: str, kind: str, error_type: str | None = None
) -> GymFailure:
    details = {
        "provider": getattr(getattr(sandbox, "_provider", None), "name", None),
        "sandbox_id": getattr(getattr(sandbox, "_handle", None), "sandbox_id", None),
        "provider_status_reason": error_type,
    }
    return GymFailure(FailureBoundary.SANDBOX, kind, operation=operation, details=details)
