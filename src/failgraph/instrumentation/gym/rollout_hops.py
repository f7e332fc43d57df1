"""Hops inside the spans that Gym's own telemetry makes of a run and of its rollouts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from opentelemetry import trace

from failgraph.diagnostics import guard
from failgraph.instrumentation.gym.current_request import gym_request
from failgraph.instrumentation.gym.rollout_names import name_from_run
from failgraph.instrumentation.gym.serving import record_escaping
from failgraph.recording import hops
from failgraph.recording.hop import Hop, running_hop

Wrapped = Callable[..., Any]


async def run_from_config(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`RolloutCollectionHelper._run_from_config(config)`, inside `gym.job` where that is traced: a hop."""
    if not trace.get_current_span().get_span_context().is_valid:
        return await wrapped(*args, **kwargs)
    with hops.hop():
        return await wrapped(*args, **kwargs)


def traced_rollout_endpoint(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`traced_rollout_endpoint(handler, …)`: an agent's `/run`; what runs inside `gym.rollout`, if traced, is a hop."""
    if not args or not callable(args[0]):
        return wrapped(*args, **kwargs)
    handler = args[0]

    @functools.wraps(handler)
    async def inside(*args: Any, **kwargs: Any) -> Any:
        with guard("naming a rollout"):
            name_from_run((*args, *kwargs.values()))
        with _RolloutHop():
            return await handler(*args, **kwargs)

    return wrapped(inside, *args[1:], **kwargs)


class _RolloutHop:
    """The time inside `gym.rollout`; an exception passes through it untouched."""

    def __init__(self) -> None:
        self._hop: hops.hop | None = None
        self._around: Hop | None = None

    def __enter__(self) -> None:
        with guard("a rollout"):
            self._around, span = running_hop(), trace.get_current_span()
            if self._around is not None and span.is_recording() and span is not self._around.span:
                self._hop = hops.hop()
                self._hop.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._hop is None:
            return
        inner, server = running_hop(), gym_request.get()
        with guard("a rollout"):
            if server is not None and isinstance(error, Exception):
                record_escaping(server, "POST", "/run", error)
        self._hop.__exit__(kind, error, at)
        if self._around is not None and inner is not None:
            self._around.log.claim(
                inner.log.failure_id
            )  # what the rollout comes to, the request does
