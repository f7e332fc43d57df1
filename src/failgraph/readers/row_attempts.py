"""A saved row of NeMo Gym as one attempt of a rollout: which it was, and the failures that it tells of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from failgraph.failure import cause_graph
from failgraph.failure.records import FailureEvent
from failgraph.failure.salvage import salvage
from failgraph.gym_formats.outcomes import (
    RowFailure,
    RowOutcome,
    episode_failure,
    rollout_failure_fields,
    row_outcome,
)
from failgraph.gym_formats.rollout_ids import IDENTITY_KEYS, attempt_id, rollout_id
from failgraph.losses import Loss

_EVIDENCE = ("_ng_omitted_rollout", "_ng_unrouted_run_error")
_INPUT = ("responses_create_params", "task_input")
_ENVELOPE = frozenset(
    {
        "schema_version",
        "episode_id",
        "run_id",
        "source",
        "delivery",
        "failure",
        "http_status",
        "exception_type",
    }
)
_EPISODE = frozenset({"failure_reason", "terminal", "failure_kind", "stage"})
_MAX_EVENTS = 256
"""Failures of an attempt that are kept, as in a hop's report: a trace must fit what a backend takes."""
_SERVER_KEYS = ("_ng_environment_server", "agent_ref", "agent_name")

Shape = Literal["attempt", "envelope", "evidence", "input"]


class Attempt(NamedTuple):
    """One attempt of a rollout."""

    digest: bytes
    """Of the row's content, however it is formatted: 32 bytes, of which all ids are made."""
    rollout_id: str | None
    """As in `nemo.gym.rollout.id`; None where the row names none."""
    server: str
    """The environment server or agent that ran it; empty where the row names none."""
    events: Mapping[str, FailureEvent]
    """By id, the own failure first where the row has no report."""
    failure_id: str | None
    """What it failed with; None where it scored."""
    omitted: bool
    """Whether failures are missing from what it tells."""
    failure_class: str | None
    """The raw `_ng_failure_class`."""
    created_s: float | None
    """When its response was made, in s since the epoch, where the row has that."""
    losses: tuple[Loss, ...]

    @property
    def trace_id(self) -> str:
        """32 hex digits."""
        return self.digest[:16].hex()

    @property
    def span_id(self) -> str:
        """16 hex digits."""
        return self.digest[16:24].hex()


def shape_of(document: object) -> Shape | None:
    """What kind of row a JSON document is; None where it is none.

    An attempt is a rollout's result or failure, or an episode response; an envelope is a `RolloutFailure`. Evidence of
    attempts that were never counted, and inputs, tell of no attempt.
    """
    if not isinstance(document, dict):
        return None
    if any(key in document for key in _EVIDENCE):
        return "evidence"
    if isinstance(document.get("episode_id"), dict):
        if "run_id" in document or "delivery" in document:
            return "envelope"
        return "attempt" if "failure" in document or "result" in document else None
    gyms = [key for key in document if key.startswith("_ng_")]
    if any(key not in IDENTITY_KEYS for key in gyms):
        return "attempt"
    given = any(key in document for key in _INPUT)
    if "reward" in document and (gyms or given):
        return "attempt"
    if "response" in document and gyms:
        return "attempt"
    return "input" if gyms and given else None


def attempt_of(row: Mapping[str, Any], shape: Shape) -> Attempt:
    """The attempt that a row of this shape tells of. Raises ValueError in a sentence where the row cannot be one."""
    digest = _digest(row)
    prefix = f"row-{digest[:16].hex()}"
    if shape == "envelope":
        _check_envelope(row)
        key = f"{prefix}-0"
        outcome = RowOutcome((RowFailure(key, rollout_failure_fields(row)),), key)
    else:
        outcome = row_outcome(row, prefix)
    events: dict[str, FailureEvent] = {}
    losses: list[Loss] = []
    for key, fields in outcome.failures:
        event, found = salvage(key, fields)
        losses.extend(found)
        if event is not None:
            events[key] = event
    kept = _bounded(events, outcome.failure_id)
    return Attempt(
        digest=digest,
        rollout_id=_rollout_id(row),
        server=_server(row),
        events=kept,
        failure_id=outcome.failure_id,
        omitted=outcome.omitted
        or len(kept) < len(events)
        or outcome.failure_id not in (None, *events),
        failure_class=outcome.failure_class,
        created_s=_created_s(row),
        losses=tuple(losses),
    )


def _bounded(events: dict[str, FailureEvent], failure_id: str | None) -> dict[str, FailureEvent]:
    """As many as a hop's report has, the own chain first, then the newest; in the order of the row."""
    if len(events) <= _MAX_EVENTS:
        return events
    own = cause_graph.chain({key: event.cause_id for key, event in events.items()}, failure_id)
    kept = set(list(dict.fromkeys([*own, *reversed(events)]))[:_MAX_EVENTS])
    return {key: event for key, event in events.items() if key in kept}


def _digest(row: Mapping[str, Any]) -> bytes:
    try:
        return hashlib.sha256(
            json.dumps(row, sort_keys=True, separators=(",", ":")).encode()
        ).digest()
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def _check_envelope(row: Mapping[str, Any]) -> None:
    """A `RolloutFailure` of another version or with other fields is refused, as Gym asks of its readers."""
    version, failure = row.get("schema_version", 1), row.get("failure")
    if version != 1 or isinstance(version, bool):
        raise ValueError(
            f"a RolloutFailure of schema_version {str(version)[:20]}; 1 is the one that is known"
        )
    if episode_failure(row) is None or not isinstance(failure, dict):
        raise ValueError("a RolloutFailure without a failure")
    unknown = [*(row.keys() - _ENVELOPE), *(failure.keys() - _EPISODE)]
    if unknown:
        raise ValueError(f"a RolloutFailure with the unknown field {min(unknown)[:40]}")
    if row.get("source") not in ("environment", "collector"):
        raise ValueError("a RolloutFailure whose source is neither environment nor collector")
    if row.get("delivery") not in ("not_sent", "possibly_delivered", "delivered"):
        raise ValueError("a RolloutFailure without a delivery that is known")


def _rollout_id(row: Mapping[str, Any]) -> str | None:
    episode = row.get("episode_id")
    if isinstance(episode, dict):
        return attempt_id(episode.get("rollout_id"), episode.get("attempt", 0))
    return rollout_id(row)


def _server(row: Mapping[str, Any]) -> str:
    for key in _SERVER_KEYS:
        value = row.get(key)
        name = value.get("name") if isinstance(value, dict) else value
        if isinstance(name, str) and name:
            return name
    return ""


def _created_s(row: Mapping[str, Any]) -> float | None:
    response = row.get("response")
    created = response.get("created_at") if isinstance(response, dict) else None
    plausible = (
        isinstance(created, (int, float)) and not isinstance(created, bool) and 1e9 < created < 1e10
    )
    return float(created) if plausible and created is not None else None
