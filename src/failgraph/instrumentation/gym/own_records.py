"""What the coming Gym observes as records of its own: they are written as they are, with its ids.

The parameters of its functions are not documented: what is wanted is found among the arguments by what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import BaseModel

from failgraph.diagnostics import guard
from failgraph.exceptions.cause_chain import carries_failure
from failgraph.failure.records import FailureReport
from failgraph.failure.salvage import fields_of
from failgraph.instrumentation import hooks
from failgraph.recording.api import record
from failgraph.recording.recorder import recorder

_TRANSPORT = "nemo_gym.core.failure_transport"


def _has_class(value: object, name: str) -> bool:
    return any(cls.__name__ == name for cls in type(value).__mro__)


def _is_failure(value: object) -> bool:
    return isinstance(value, BaseException) or _has_class(value, "FailureEvent")


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    yield from args
    yield from kwargs.values()


def observe_failure(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`observe_failure(…)`: a failure that a retry may still recover from."""
    with guard("a failure that Gym observed"):
        given = [each for each in _arguments(args, kwargs) if _is_failure(each)]
        if not given:
            hooks.note_unfit(f"{_TRANSPORT}.observe_failure", "no argument is a failure")
        for failure in given:
            if not isinstance(failure, BaseException) or carries_failure(failure):
                record(failure)
    return wrapped(*args, **kwargs)


def observe_reply(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`observe_reply(…)`: the report of another server's reply, where no HTTP client of ours has seen it."""
    with guard("a reply that Gym observed"):
        for each in _arguments(args, kwargs):
            if isinstance(each, BaseModel) and _has_class(each, "FailureReport"):
                recorder().record_reply(FailureReport.model_validate(fields_of(each)), {})
    return wrapped(*args, **kwargs)
