"""What a saved row says went wrong, in the words of each of Gym's generations, as failure records.

The documented report (`_ng_failure_events`, `_ng_failure_id`) comes first. Before it there were the keys
`_ng_failure_*` of the sidecar, `failure_kind` and `failure_reason` of a verify response, and the `EpisodeFailure` of an
environment server. A failure without an id of its own gets one made of the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from failgraph.failure.boundary import FailureBoundary as Boundary, parse_boundary
from failgraph.gym_formats.error_bodies import (
    ErrorBody,
    FailedServer,
    QuotedException,
    parse_error_body,
)
from failgraph.gym_formats.failure_classes import SERVER_TYPES, class_meaning, kind_of_error_reply
from failgraph.gym_formats.validation_errors import without_inputs
from failgraph.text import ELLIPSIS

_MESSAGES = (
    "_ng_failure_message",
    "_ng_failure_judge_error",
    "failure_reason",
    "error",
    "error_message",
    "agent_error",
)
_RUN = "/run"
_HTTP_ERROR = "ClientResponseError"

RecordFields = dict[str, Any]
"""The fields of a record, not yet checked."""


class RowFailure(NamedTuple):
    """One failure that a row names."""

    event_id: str
    fields: RecordFields


class RowOutcome(NamedTuple):
    """How an attempt ended."""

    failures: tuple[RowFailure, ...]
    failure_id: str | None
    """The one that the attempt failed with; None where it scored in spite of them."""
    failure_class: str | None = None
    """The raw `_ng_failure_class`."""
    omitted: bool = False
    """Whether its report says that failures are missing."""


def row_outcome(row: Mapping[str, Any], prefix: str) -> RowOutcome:
    """What the row of an attempt says; `prefix` begins the ids of failures that have none."""
    report = row.get("failure_report")
    nested = report if isinstance(report, dict) else {}
    outcome = _outcome(row, prefix, _reported(row, nested), _reported_id(row, nested))
    return outcome._replace(omitted=outcome.omitted or nested.get("omitted") is True)


def _outcome(
    row: Mapping[str, Any],
    prefix: str,
    reported: tuple[RowFailure, ...],
    failure_id: str | None,
) -> RowOutcome:
    failure_class = row.get("_ng_failure_class")
    name = failure_class if isinstance(failure_class, str) and failure_class else None
    if (
        failure_id is not None
        and parse_boundary(dict(reported).get(failure_id, {}).get("boundary")) is not None
    ):
        return RowOutcome(reported, failure_id, name)
    made = tuple(_linked(_own(row, name), f"{prefix}-"))
    if made and (name or _failed(row)):
        # A report without the failure that it names leaves the row's other words for it.
        return RowOutcome(
            (*made, *reported), made[0].event_id, name, omitted=failure_id is not None
        )
    if failure_id is not None:
        return RowOutcome(reported, failure_id, name)
    # The row of an attempt that scored names once more what its report already holds.
    return RowOutcome(reported or made, None, name)


def _failed(row: Mapping[str, Any]) -> bool:
    """Whether a row without a class says that there is no valid score."""
    return row.get("mask_sample") is True or episode_failure(row) is not None


def episode_failure(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The `EpisodeFailure` of an episode response or of a row that nests one."""
    failure = row.get("failure")
    told = (
        isinstance(failure, dict)
        and isinstance(failure.get("failure_reason"), str)
        and "terminal" in failure
    )
    return failure if told else None


def _reported(row: Mapping[str, Any], nested: Mapping[str, Any]) -> tuple[RowFailure, ...]:
    """The documented report of a row, or, `nested`, of the episode response that it is."""
    events = row.get("_ng_failure_events", nested.get("events"))
    if not isinstance(events, dict):
        return ()
    return tuple(
        RowFailure(event_id, event if isinstance(event, dict) else {})
        for event_id, event in events.items()
    )


def _reported_id(row: Mapping[str, Any], nested: Mapping[str, Any]) -> str | None:
    failure_id = row.get("_ng_failure_id", nested.get("failure_id"))
    return failure_id if isinstance(failure_id, str) else None


def _own(row: Mapping[str, Any], name: str | None) -> list[RecordFields]:
    """The failure that a row names in the older ways, and what its texts tell of its causes; empty where none."""
    episode = episode_failure(row)
    if episode is not None:
        return [_episode(episode, Boundary.ENVIRONMENT)]
    if name is not None and ("_ng_failure_http_status" in row or "_ng_failure_type" in row):
        return list(_failed_run(row, name))
    if name is not None:
        return [_classified(row, name)]
    kind, reason = _text(row, "failure_kind"), _text(row, "failure_reason")
    if kind or (reason and row.get("mask_sample") is True):
        named = kind or "verifier_error"
        return [
            _record(Boundary.RESOURCES_SERVER, named, stage="verification", failure_reason=reason)
        ]
    return []


def _classified(row: Mapping[str, Any], name: str) -> RecordFields:
    """A failure that a server named by its class, behind a 200."""
    meaning = class_meaning(name)
    kind = _text(row, "failure_kind") or meaning.kind
    return _record(
        meaning.boundary,
        kind,
        stage=row.get("_ng_failure_stage") or meaning.stage,
        failure_reason=_message(row),
        # The raw class stays where the kind is another name.
        operation=None if kind == name else name,
    )


def _failed_run(row: Mapping[str, Any], name: str) -> Iterator[RecordFields]:
    """A `/run` call that brought no result: what the collector saw, and the servers that its body names."""
    body = row.get("_ng_failure_response_body")
    parsed = parse_error_body(body) if isinstance(body, str) else ErrorBody((), "")
    own = _record(
        Boundary.COLLECTION,
        name,
        failure_reason=_message(row),
        exception_type=_text(row, "_ng_failure_type"),
        http_status=row.get("_ng_failure_http_status"),
        operation=_RUN,
    )
    records = [
        own,
        *(
            _failed_server(server, row, first=not number)
            for number, server in enumerate(parsed.servers)
        ),
    ]
    if parsed.text:
        exception = parsed.exception or QuotedException(_HTTP_ERROR, parsed.text)
        message = exception.message + ELLIPSIS if parsed.is_cut else exception.message
        records[-1]["foreign_error"] = {
            "exception_type": exception.type_name,
            "message": without_inputs(message),
        }
    yield from records


def _failed_server(server: FailedServer, row: Mapping[str, Any], *, first: bool) -> RecordFields:
    """A server that failed because one that it called did."""
    boundary = _boundary(server, row, first=first)
    return _record(
        boundary, kind_of_error_reply(boundary), exception_type=_HTTP_ERROR, operation=server.name
    )


def _boundary(server: FailedServer, row: Mapping[str, Any], *, first: bool) -> Boundary:
    """Where a server that is known by its class and its name observes.

    The row may name it; its class may; else the first below the collector is the agent, and what an agent calls and is
    no model is a resources server.
    """
    reference = row.get("agent_ref")
    if isinstance(reference, dict) and reference.get("name") == server.name:
        return SERVER_TYPES.get(str(reference.get("type")), Boundary.AGENT)
    if row.get("_ng_environment_server") == server.name or "Environment" in server.class_name:
        return Boundary.ENVIRONMENT
    if "Model" in server.class_name:
        return Boundary.MODEL
    return Boundary.AGENT if first or "Agent" in server.class_name else Boundary.RESOURCES_SERVER


def _episode(failure: Mapping[str, Any], boundary: Boundary) -> RecordFields:
    """An `EpisodeFailure`."""
    kind = failure.get("failure_kind") or "environment_server_failed"
    return _record(
        boundary, kind, stage=failure.get("stage"), failure_reason=failure.get("failure_reason")
    )


def rollout_failure_fields(failure: Mapping[str, Any]) -> RecordFields:
    """The failure of a `RolloutFailure`, seen by the environment server or by the collector."""
    environment = failure["source"] == "environment"
    episode = failure["failure"]
    return {
        **_episode(episode, Boundary.ENVIRONMENT if environment else Boundary.COLLECTION),
        "failure_kind": episode.get("failure_kind")
        or ("environment_server_failed" if environment else "agent_request_failed"),
        "exception_type": failure.get("exception_type"),
        "http_status": failure.get("http_status"),
        "operation": f"{_RUN}, {failure['delivery']}",
    }


def _linked(records: list[RecordFields], prefix: str) -> Iterator[RowFailure]:
    """Records with ids, each caused by the next."""
    for number, record in enumerate(records):
        cause = f"{prefix}{number + 1}" if number + 1 < len(records) else None
        yield RowFailure(f"{prefix}{number}", {**record, "cause_id": cause})


def _record(
    boundary: Boundary, kind: object, failure_reason: object = None, **fields: object
) -> RecordFields:
    reason = without_inputs(failure_reason) if isinstance(failure_reason, str) else failure_reason
    return {"boundary": boundary, "failure_kind": kind, "failure_reason": reason, **fields}


def _message(row: Mapping[str, Any]) -> str | None:
    return next((text for key in _MESSAGES if (text := _text(row, key))), None)


def _text(row: Mapping[str, Any], key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) and value else None
