"""The id of a rollout, as people know it, on the span of each hop that Gym left without one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from failgraph.diagnostics import guard
from failgraph.gym_formats.rollout_ids import (
    IDENTITY_KEYS,
    ROLLOUT_ID as ROLLOUT_KEY,
    attempt_id,
    rollout_id,
)
from failgraph.instrumentation.hook_target import Wrapped
from failgraph.recording.hop import running_hop
from failgraph.recording.sdk_spans import attributes_of
from failgraph.semconv import ROLLOUT_ID

_PATH_PREFIX = "/ng-rollout/"


def rollout_id_of(row: Any) -> str | None:
    """Return the rollout id of a `/run` body, a row or an episode, or None if it names none."""
    if not isinstance(row, Mapping):
        return None
    episode = row.get("episode_id")
    if isinstance(episode, Mapping):
        return attempt_id(episode.get("rollout_id"), episode.get("attempt", 0))
    return rollout_id(row)


def name_from_path(path: str) -> None:
    """Set the rollout id that Gym puts before the path of a request."""
    if path.startswith(_PATH_PREFIX):
        _set_rollout_id(path[len(_PATH_PREFIX) :].partition("/")[0])


def name_from_run(arguments: Iterable[Any]) -> None:
    """Set the rollout id of an agent's `/run`, whose body is one of its handler's `arguments`."""
    for body in arguments:
        row = {key: getattr(body, key, None) for key in IDENTITY_KEYS}
        row[ROLLOUT_KEY] = row[ROLLOUT_KEY] or getattr(body, "capture_rollout_id", None)
        _set_rollout_id(rollout_id(row))


def rollout_context(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `rollout_context(rollout_id)`, by which a server learns the rollout of its request."""
    with guard("naming a rollout"):
        _set_rollout_id(args[0] if args else kwargs.get("rollout_id"))
    return wrapped(*args, **kwargs)


def _set_rollout_id(value: Any) -> None:
    """Set the rollout id on the span of the current hop, if `value` is one and none is there."""
    hop = running_hop()
    span = hop.span if hop is not None else None
    if span is None or not span.is_recording() or ROLLOUT_ID in attributes_of(span):
        return
    valid_id = attempt_id(value, 0)
    if valid_id is not None:
        span.set_attribute(ROLLOUT_ID, valid_id)
