"""The id by which people know a rollout, on the span of each hop whose rollout is known, where Gym put none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from failgraph.diagnostics import guard
from failgraph.gym_formats.rollout_ids import (
    IDENTITY_KEYS,
    ROLLOUT_ID as ROLLOUT_KEY,
    attempt_id,
    rollout_id,
)
from failgraph.recording.hop import running_hop
from failgraph.recording.sdk_spans import attributes_of
from failgraph.semconv import ROLLOUT_ID

_PATH = "/ng-rollout/"


def rollout_id_of(row: Any) -> str | None:
    """The id of the rollout of a `/run` body, a row or an episode's; None where it says none."""
    if not isinstance(row, Mapping):
        return None
    episode = row.get("episode_id")
    if isinstance(episode, Mapping):
        return attempt_id(episode.get("rollout_id"), episode.get("attempt", 0))
    return rollout_id(row)


def name_from_path(path: str) -> None:
    """Name the rollout that Gym puts before the path of a request."""
    if path.startswith(_PATH):
        _set_rollout_id(path[len(_PATH) :].partition("/")[0])


def name_from_run(given: Iterable[Any]) -> None:
    """Name the rollout that the body of an agent's `/run`, one of what its handler is given, is of."""
    for body in given:
        row = {key: getattr(body, key, None) for key in IDENTITY_KEYS}
        row[ROLLOUT_KEY] = row[ROLLOUT_KEY] or getattr(body, "capture_rollout_id", None)
        _set_rollout_id(rollout_id(row))


def rollout_context(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`rollout_context(rollout_id)`: a server knows from here on which rollout its request is of."""
    with guard("naming a rollout"):
        _set_rollout_id(args[0] if args else kwargs.get("rollout_id"))
    return wrapped(*args, **kwargs)


def _set_rollout_id(known: Any) -> None:
    hop = running_hop()
    span = hop.span if hop is not None else None
    if span is None or not span.is_recording() or ROLLOUT_ID in attributes_of(span):
        return
    named = attempt_id(known, 0)
    if named is not None:
        span.set_attribute(ROLLOUT_ID, named)
