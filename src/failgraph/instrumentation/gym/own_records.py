"""Failures that the upcoming Gym observes as records of its own: recorded as they are, by its ids.

The parameters of Gym's functions are not documented. Arguments are recognized by their class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from failgraph.diagnostics import guard
from failgraph.exceptions.cause_chain import carries_failure
from failgraph.failure.records import FailureReport
from failgraph.failure.salvage import fields_of
from failgraph.instrumentation import hooks
from failgraph.instrumentation.hook_target import Wrapped
from failgraph.recording.api import record
from failgraph.recording.recorder import recorder
from failgraph.redaction import redact_report

_TRANSPORT = "nemo_gym.core.failure_transport"


def observe_failure(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `observe_failure(…)`: record a failure, from which a retry may still recover."""
    with guard("recording a failure that Gym observed"):
        failures = [each for each in _arguments(args, kwargs) if _is_failure(each)]
        if not failures:
            hooks.note_unfit(f"{_TRANSPORT}.observe_failure", "no argument is a failure")
        for failure in failures:
            if not isinstance(failure, BaseException) or carries_failure(failure):
                record(failure)
    return wrapped(*args, **kwargs)


def observe_reply(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `observe_reply(…)`: take in a report, for HTTP clients that have no hook."""
    with guard("reading a report that Gym observed"):
        for each in _arguments(args, kwargs):
            if isinstance(each, BaseModel) and _has_class(each, "FailureReport"):
                report = FailureReport.model_validate(fields_of(each))
                recorder().record_reply(redact_report(report), {})
    return wrapped(*args, **kwargs)


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    yield from args
    yield from kwargs.values()


def _is_failure(value: object) -> bool:
    return isinstance(value, BaseException) or _has_class(value, "FailureEvent")


def _has_class(value: object, name: str) -> bool:
    """Return True if a class of `value` has this name: Gym's modules are not imported for it."""
    return any(cls.__name__ == name for cls in type(value).__mro__)
