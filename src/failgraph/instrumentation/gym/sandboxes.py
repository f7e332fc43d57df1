"""Sandboxes: what their start, their commands and their stop raise, and commands that never ran to an exit code.

A blocking `Sandbox` does its work on an `AsyncSandbox`, in another thread and the same context.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from failgraph.boundary import FailureBoundary
from failgraph.diagnostics import guard
from failgraph.instrumentation.gym.observing import Observed, fails, tell
from failgraph.instrumentation.gym.table import kind_of_exception, kind_of_sandbox

Wrapped = Callable[..., Any]
_STAGES = {"sandbox.stop": "cleanup"}
_OTHERWISE = {"sandbox.stop": "session_release_failed"}


class _Operating:
    """The time of one operation; an exception passes through it untouched."""

    def __init__(self, operation: str, sandbox: Any) -> None:
        self._operation, self._sandbox = operation, sandbox

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        with guard("a failing sandbox"):
            if isinstance(error, Exception):
                otherwise = _OTHERWISE.get(self._operation)
                named = kind_of_exception(error, otherwise) if otherwise else kind_of_exception(error)
                fails(self._what(named), error, own=False)

    def returned(self, result: Any) -> None:
        """A command came back: it failed as a sandbox only where Gym says so, whatever its exit code."""
        with guard("a failing sandbox"):
            error_type = getattr(result, "error_type", None)
            if isinstance(error_type, str) and error_type:
                reason = f"the sandbox could not run the command: {error_type}"
                tell(self._what(kind_of_sandbox(error_type), reason, error_type))

    def _what(self, kind: str, reason: str | None = None, provider_reason: str | None = None) -> Observed:
        sandbox = self._sandbox
        provider, handle = getattr(sandbox, "_provider", None), getattr(sandbox, "_handle", None)
        details = {
            "provider": getattr(provider, "name", None),
            "sandbox_id": getattr(handle, "sandbox_id", None),
            "provider_status_reason": provider_reason,
        }
        stage = _STAGES.get(self._operation)
        return Observed(FailureBoundary.SANDBOX, kind, stage, self._operation, details=details, reason=reason)


async def start(wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`AsyncSandbox.start()`."""
    with _Operating("sandbox.start", instance):
        return await wrapped(*args, **kwargs)


async def execute(wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`AsyncSandbox.exec(command)`: the command itself is never looked at."""
    operating = _Operating("sandbox.exec", instance)
    with operating:
        result = await wrapped(*args, **kwargs)
    operating.returned(result)
    return result


async def stop(wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`AsyncSandbox.stop()`."""
    with _Operating("sandbox.stop", instance):
        return await wrapped(*args, **kwargs)
