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
    """The id that the keys of a row or a `/run` body make: the explicit one, else `<task>-<rollout>`.

    A retry has `-a<n>` behind it. None where it names none, or one that Gym itself refuses.
    """
    explicit, attempt = row.get(ROLLOUT_ID), row.get(ATTEMPT_INDEX)
    if explicit is None:
        task, rollout = _part(row.get(TASK_INDEX)), _part(row.get(ROLLOUT_INDEX))
        explicit = None if task is None or rollout is None else f"{task}-{rollout}"
    return attempt_id(explicit, 0 if attempt is None else attempt)


def attempt_id(rollout: object, attempt: object) -> str | None:
    """The id of one attempt of a rollout, counted from 0; None where either is none that Gym makes."""
    if not isinstance(rollout, str) or not _ID.fullmatch(rollout):
        return None
    if isinstance(attempt, str) and attempt.isdecimal() and attempt.isascii():
        attempt = int(attempt[:20])
    if not _is_index(attempt):
        return None
    return f"{rollout}-a{attempt}" if attempt else rollout


def _part(index: object) -> object:
    return index if _is_index(index) or isinstance(index, str) else None


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_INDEX
