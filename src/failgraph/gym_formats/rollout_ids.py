"""The id of a rollout attempt, as Gym makes it for paths, captures and `nemo.gym.rollout.id`."""

from __future__ import annotations

import re
from collections.abc import Mapping

TASK_INDEX = "_ng_task_index"
ROLLOUT_INDEX = "_ng_rollout_index"
ATTEMPT_INDEX = "_ng_attempt_index"
ROLLOUT_ID = "_ng_rollout_id"
IDENTITY_KEYS = (TASK_INDEX, ROLLOUT_INDEX, ATTEMPT_INDEX, ROLLOUT_ID)
"""The keys by which a row names its attempt."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,255}")
_MAX_INDEX = 10**18


def rollout_id(row: Mapping[str, object]) -> str | None:
    """Return the id of the attempt that a row or a `/run` body names.

    It is the explicit one or else `<task>-<rollout>`, with `-a<n>` for a retry.

    Returns:
        The id, or None if there is none or Gym would reject it.
    """
    explicit, attempt = row.get(ROLLOUT_ID), row.get(ATTEMPT_INDEX)
    if explicit is None:
        task, rollout = _part(row.get(TASK_INDEX)), _part(row.get(ROLLOUT_INDEX))
        explicit = None if task is None or rollout is None else f"{task}-{rollout}"
    return attempt_id(explicit, 0 if attempt is None else attempt)


def attempt_id(rollout: object, attempt: object) -> str | None:
    """Return the id of one attempt of a rollout.

    Args:
        rollout: The id of the rollout.
        attempt: The number of the attempt, from 0; a text of digits counts too.

    Returns:
        The id, or None if Gym would reject one of the two.
    """
    if not isinstance(rollout, str) or not _ID.fullmatch(rollout):
        return None
    if isinstance(attempt, str) and attempt.isdecimal() and attempt.isascii():
        attempt = int(attempt[:20])
    if not _is_index(attempt):
        return None
    return f"{rollout}-a{attempt}" if attempt else rollout


def _part(index: object) -> object:
    """Return an index as a part of an id, or None if it cannot be one."""
    return index if _is_index(index) or isinstance(index, str) else None


def _is_index(value: object) -> bool:
    """True if the value is an integer from 0 to 10**18 - 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_INDEX
