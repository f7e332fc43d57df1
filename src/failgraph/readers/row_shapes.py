"""Recognize rows that NeMo Gym saved, by their keys."""

from __future__ import annotations

from typing import Literal

from failgraph.gym_formats.rollout_ids import IDENTITY_KEYS

RowShape = Literal["attempt", "envelope", "evidence", "input"]

_EVIDENCE = ("_ng_omitted_rollout", "_ng_unrouted_run_error")
_INPUT = ("responses_create_params", "task_input")


def row_shape(document: object) -> RowShape | None:
    """Return what kind of row a JSON document is, or None if it is not a row.

    Returns:
        `attempt` for the result or failure of a rollout, or an episode response; `envelope` for a
        `RolloutFailure`; `evidence` of an attempt that was never counted; `input` of a rollout.
        The last two describe no attempt.
    """
    if not isinstance(document, dict):
        return None
    if any(key in document for key in _EVIDENCE):
        return "evidence"
    if isinstance(document.get("episode_id"), dict):
        if "run_id" in document or "delivery" in document:
            return "envelope"
        return "attempt" if "failure" in document or "result" in document else None
    gym_keys = [key for key in document if key.startswith("_ng_")]
    if any(key not in IDENTITY_KEYS for key in gym_keys):
        return "attempt"
    has_input = any(key in document for key in _INPUT)
    if "reward" in document and (gym_keys or has_input):
        return "attempt"
    if "response" in document and gym_keys:
        return "attempt"
    return "input" if gym_keys and has_input else None
