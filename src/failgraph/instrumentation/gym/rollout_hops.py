"""Hops inside the spans that Gym's own telemetry makes of a run and of its rollouts."""

from __future__ import annotations

import functools
from types import TracebackType
from typing import Any

from opentelemetry import trace

from failgraph.diagnostics import guard
from failgraph.instrumentation.gym.current_request import gym_request
from failgraph.instrumentation.gym.rollout_names import name_from_run
from failgraph.instrumentation.gym.serving import record_escaping
from failgraph.instrumentation.hook_target import Wrapped
from failgraph.recording import hops
from failgraph.recording.hop import Hop, running_hop


async def run_from_config(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `RolloutCollectionHelper._run_from_config(config)`: the span `gym.job` gets a hop."""
    if not trace.get_current_span().get_span_context().is_valid:
        return await wrapped(*args, **kwargs)
    with hops.hop():
        return await wrapped(*args, **kwargs)


def traced_rollout_endpoint(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `traced_rollout_endpoint(handler, …)`, an agent's `/run`.

    The hop of the request gets the rollout's id, and the span `gym.rollout`, if there is one, gets
    a hop.
    """
    if not args or not callable(args[0]):
        return wrapped(*args, **kwargs)
    handler = args[0]

    @functools.wraps(handler)
    async def handle_in_hop(*args: Any, **kwargs: Any) -> Any:
        with guard("naming a rollout"):
            name_from_run((*args, *kwargs.values()))
        with _RolloutHop():
            return await handler(*args, **kwargs)

    return wrapped(handle_in_hop, *args[1:], **kwargs)


class _RolloutHop:
    """Context manager for the hop on `gym.rollout`. Does nothing if there is no such span.

    An exception is recorded as the server's own failure, and propagates.
    """

    def __init__(self) -> None:
        self._hop: hops.hop | None = None
        self._request_hop: Hop | None = None

    def __enter__(self) -> None:
        with guard("tracing a rollout"):
            span = trace.get_current_span()
            outer = self._request_hop = running_hop()
            if outer is not None and span.is_recording() and span is not outer.span:
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
        rollout_hop, served = running_hop(), gym_request.get()
        with guard("tracing a rollout"):
            if served is not None and isinstance(error, Exception):
                record_escaping(served, "POST", "/run", error)
        self._hop.__exit__(kind, error, at)
        if self._request_hop is not None and rollout_hop is not None:
            # The result of the rollout is the result of the request.
            self._request_hop.log.claim(rollout_hop.log.failure_id)
