"""Verification in resources servers: a failed judge is answered with a 200 that says so."""

from __future__ import annotations

import functools
from typing import Any

from failgraph.diagnostics import guard
from failgraph.failure.boundary import FailureBoundary
from failgraph.instrumentation import hooks
from failgraph.instrumentation.gym.observing import GymFailure, record_failure, record_raised
from failgraph.instrumentation.gym.on_exception import on_exception
from failgraph.instrumentation.hook_target import Wrapped
from failgraph.text import safe_str


def judge_failsafe(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap the decorator `judge_failsafe(verify_fn)`: watch the function that it decorates.

    The decorator turns a `JudgeError` into a row, so that it is not seen further out.
    """
    if len(args) != 1 or kwargs or not callable(args[0]):
        hooks.note_unfit("nemo_gym.judge.judge_failsafe", "it is not called with one function")
        return wrapped(*args, **kwargs)
    verify = args[0]

    @functools.wraps(verify)
    async def verify_and_record(*args: Any, **kwargs: Any) -> Any:
        with on_exception("recording a judge failure", _record_judge_error):
            answer = await verify(*args, **kwargs)
        with guard("recording a verification"):
            _record_named_failure(answer)
        return answer

    return wrapped(verify_and_record)


def _record_judge_error(error: Exception) -> None:
    if any(cls.__name__ == "JudgeError" for cls in type(error).__mro__):
        record_raised(_verification_failure("judge_failed"), error)


def _record_named_failure(answer: Any) -> None:
    """Record a failure that the verifier names itself. It is the reply's own if it is masked."""
    kind = getattr(answer, "failure_kind", None)
    if isinstance(kind, str) and kind:
        reason = safe_str(getattr(answer, "failure_reason", None) or "")
        is_masked = getattr(answer, "mask_sample", False) is True
        record_failure(_verification_failure(kind, reason), own=is_masked)


def _verification_failure(kind: str, reason: str | None = None) -> GymFailure:
    return GymFailure(
        FailureBoundary.RESOURCES_SERVER, kind, "verification", "POST /verify", reason=reason
    )
