"""The id by which people know a rollout, on the span of each hop whose rollout is known, where Gym put none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from failgraph.context import current_hop
from failgraph.diagnostics import guard
from failgraph.placement import attributes_of
from failgraph.semconv import ROLLOUT_ID

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,255}")
_PATH = "/ng-rollout/"


def rollout_id_of(row: Any) -> str | None:
    """The id of the rollout of a `/run` body; None where it says none.

    An explicit one, or that of the episode, else the task's and the rollout's index; the attempt from the second on.
    """
    if not isinstance(row, Mapping):
        return None
    episode = row.get("episode_id")
    if isinstance(episode, Mapping):
        explicit, attempt = episode.get("rollout_id"), episode.get("attempt")
    else:
        explicit, attempt = row.get("_ng_rollout_id"), row.get("_ng_attempt_index")
    if explicit is None:
        task, rollout = row.get("_ng_task_index"), row.get("_ng_rollout_index")
        explicit = None if task is None or rollout is None else f"{task}-{rollout}"
    if not isinstance(explicit, str) or not _ID.fullmatch(explicit):
        return None
    return f"{explicit}-a{attempt}" if isinstance(attempt, int) and attempt > 0 else explicit


def by_path(path: str) -> None:
    """Name the rollout that Gym puts before the path of a request."""
    if path.startswith(_PATH):
        _name(path[len(_PATH) :].partition("/")[0])


def rollout_context(wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001
    """`rollout_context(rollout_id)`: a server knows from here on which rollout its request is of."""
    with guard("naming a rollout"):
        _name(args[0] if args else kwargs.get("rollout_id"))
    return wrapped(*args, **kwargs)


def _name(rollout_id: Any) -> None:
    hop = current_hop.get()
    span = hop.span if hop is not None else None
    if span is None or not span.is_recording() or ROLLOUT_ID in attributes_of(span):
        return
    if isinstance(rollout_id, str) and _ID.fullmatch(rollout_id):
        span.set_attribute(ROLLOUT_ID, rollout_id)
