"""The failure that the result of a rollout names, for servers that sent no failure report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failgraph.failure.boundary import FailureBoundary
from failgraph.instrumentation.gym.observing import GymFailure
from failgraph.instrumentation.gym.vocabulary import meaning_of_class
from failgraph.text import safe_str

_OPERATION = "POST /run"

# Where a row says why it failed, the most specific text first.
_REASON_KEYS = ("_ng_failure_judge_error", "failure_reason", "_ng_failure_message")


def failure_in_result(row: Mapping[str, Any]) -> GymFailure | None:
    """Return the failure that a result names, or None if it names none.

    Args:
        row: The body of a `/run`: an agent's row, or the response of an environment server.
    """
    label, episode_failure = row.get("_ng_failure_class"), row.get("failure")
    if isinstance(label, str) and label:
        return _labelled_failure(row, label)
    if isinstance(episode_failure, Mapping) and "episode_id" in row:
        return GymFailure(
            FailureBoundary.ENVIRONMENT,
            episode_failure.get("failure_kind") or "environment_server_failed",
            episode_failure.get("stage"),
            _OPERATION,
            reason=safe_str(episode_failure.get("failure_reason") or ""),
        )
    return None


def _labelled_failure(row: Mapping[str, Any], label: str) -> GymFailure:
    """Return the failure of a row with a failure class. The class stays in the operation."""
    meaning = meaning_of_class(label)
    kind = row.get("failure_kind")
    reasons = filter(None, (row.get(key) for key in _REASON_KEYS))
    return GymFailure(
        meaning.boundary,
        kind if isinstance(kind, str) and kind else meaning.kind,
        meaning.stage,
        operation=f"{_OPERATION} ({label})",
        reason=safe_str(next(reasons, "")),
    )
