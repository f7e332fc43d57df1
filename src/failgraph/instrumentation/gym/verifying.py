"""Verification in resources servers: a judge that failed is answered with a 200 whose body says so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from failgraph.diagnostics import guard
from failgraph.failure.boundary import FailureBoundary
from failgraph.instrumentation import hooks
from failgraph.instrumentation.gym.observing import GymFailure, record_failure, record_raised
from failgraph.instrumentation.gym.on_exception import on_exception
from failgraph.text import safe_str

_OPERATION = "POST /verify"


def judge_failsafe(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`judge_failsafe(verify_fn)`: what it makes a row of is seen inside it."""
    if len(args) != 1 or kwargs or not callable(args[0]):
        hooks.note_unfit("nemo_gym.judge.judge_failsafe", "it is not called with one function")
        return wrapped(*args, **kwargs)
    verify = args[0]

    @functools.wraps(verify)
    async def watched(*args: Any, **kwargs: Any) -> Any:
        with on_exception("a failing judge", _record_judge_error):
            answer = await verify(*args, **kwargs)
        with guard("a verification"):
            _record_named_failure(answer)
        return answer

    return wrapped(watched)


def _record_judge_error(error: Exception) -> None:
    if any(cls.__name__ == "JudgeError" for cls in type(error).__mro__):
        record_raised(_verification("judge_failed"), error)


def _verification(kind: str, reason: str | None = None) -> GymFailure:
    return GymFailure(
        FailureBoundary.RESOURCES_SERVER, kind, "verification", _OPERATION, reason=reason
    )


def _record_named_failure(answer: Any) -> None:
    """A verifier that names a failure itself; where the sample is masked, that is what its reply is."""
    kind = getattr(answer, "failure_kind", None)
    if isinstance(kind, str) and kind:
        reason = safe_str(getattr(answer, "failure_reason", None) or "")
        record_failure(
            _verification(kind, reason), own=getattr(answer, "mask_sample", False) is True
        )
