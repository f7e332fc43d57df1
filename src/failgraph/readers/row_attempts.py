"""Read a row that NeMo Gym saved as one attempt of a rollout: which one, and its failures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from failgraph.failure import cause_graph
from failgraph.failure.records import FailureEvent
from failgraph.failure.salvage import salvage
from failgraph.gym_formats.older_forms import episode_failure, rollout_failure_fields
from failgraph.gym_formats.outcomes import RowFailure, RowOutcome, row_outcome
from failgraph.gym_formats.rollout_ids import attempt_id, rollout_id
from failgraph.losses import Loss
from failgraph.readers.row_shapes import RowShape
from failgraph.redaction.display import display

_ENVELOPE_KEYS = frozenset(
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
_EPISODE_KEYS = frozenset({"failure_reason", "terminal", "failure_kind", "stage"})
_MAX_EVENTS = 256  # as in the report of a hop: a trace must not be larger than a backend takes
_SERVER_KEYS = ("_ng_environment_server", "agent_ref", "agent_name")


class RowAttempt(NamedTuple):
    """One attempt of a rollout.

    Attributes:
        digest: 32 bytes made of the row's content, however it is formatted. All ids come from it.
        rollout_id: As in `nemo.gym.rollout.id`, or None if the row has none.
        server: The environment server or agent that ran it, or empty if the row names none.
        events: By event id. Without a report in the row, the attempt's own failure is the first.
        failure_id: What the attempt failed with, or None if it scored.
        omitted: True if failures are missing from `events`.
        failure_class: The raw `_ng_failure_class`.
        created_s: When its response was created, in s since the epoch, or None if unknown.
        losses: What was wrong with the row.
    """

    digest: bytes
    rollout_id: str | None
    server: str
    events: Mapping[str, FailureEvent]
    failure_id: str | None
    omitted: bool
    failure_class: str | None
    created_s: float | None
    losses: tuple[Loss, ...]

    @property
    def trace_id(self) -> str:
        """32 hex digits."""
        return self.digest[:16].hex()

    @property
    def span_id(self) -> str:
        """16 hex digits."""
        return self.digest[16:24].hex()


def read_attempt(row: Mapping[str, Any], shape: RowShape) -> RowAttempt:
    """Return the attempt that a row of shape `attempt` or `envelope` describes.

    Raises:
        ValueError: If the row is invalid; the message explains why.
    """
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
        event, event_losses = salvage(key, fields)
        losses.extend(event_losses)
        if event is not None:
            events[key] = event
    bounded = _bounded(events, outcome.failure_id)
    is_own_missing = outcome.failure_id is not None and outcome.failure_id not in events
    return RowAttempt(
        digest=digest,
        rollout_id=_rollout_id(row),
        server=_server(row),
        events=bounded,
        failure_id=outcome.failure_id,
        omitted=outcome.omitted or len(bounded) < len(events) or is_own_missing,
        failure_class=outcome.failure_class,
        created_s=_created_s(row),
        losses=tuple(losses),
    )


def _bounded(events: dict[str, FailureEvent], failure_id: str | None) -> dict[str, FailureEvent]:
    """Return at most 256 events in the order of the row: first the own chain, then the newest."""
    if len(events) <= _MAX_EVENTS:
        return events
    causes = {key: event.cause_id for key, event in events.items()}
    by_priority = dict.fromkeys([*cause_graph.chain(causes, failure_id), *reversed(events)])
    wanted = set(list(by_priority)[:_MAX_EVENTS])
    return {key: event for key, event in events.items() if key in wanted}


def _digest(row: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(row, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise ValueError("the row is nested too deeply") from None
    return hashlib.sha256(text.encode()).digest()


def _check_envelope(row: Mapping[str, Any]) -> None:
    """Reject a `RolloutFailure` of another version or with other fields, as Gym asks readers to."""
    version, failure = row.get("schema_version", 1), row.get("failure")
    if version != 1 or isinstance(version, bool):
        shown = display(str(version), 20)
        raise ValueError(f"a RolloutFailure with schema_version {shown}; only 1 is supported")
    if episode_failure(row) is None or not isinstance(failure, dict):
        raise ValueError("a RolloutFailure without a failure")
    unknown = [*(row.keys() - _ENVELOPE_KEYS), *(failure.keys() - _EPISODE_KEYS)]
    if unknown:
        raise ValueError(f"a RolloutFailure with an unknown field {display(min(unknown), 40)}")
    if row.get("source") not in ("environment", "collector"):
        raise ValueError("a RolloutFailure whose source is neither environment nor collector")
    if row.get("delivery") not in ("not_sent", "possibly_delivered", "delivered"):
        raise ValueError("a RolloutFailure with an unknown delivery")


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
    """Return when the response was created, or None if that is absent or not plausible."""
    response = row.get("response")
    created = response.get("created_at") if isinstance(response, dict) else None
    if not isinstance(created, (int, float)) or isinstance(created, bool):
        return None
    return float(created) if 1e9 < created < 1e10 else None
