"""The failures that a saved row names, whichever release of Gym wrote it, as fields of records.

The documented report (`_ng_failure_events`, `_ng_failure_id`) wins. Older forms are the keys
`_ng_failure_*` of the sidecar file, `failure_kind` and `failure_reason` of a verify response, and
the `EpisodeFailure` of an environment server; their failures have no ids and get one from the row.
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
"""The keys that may hold the message of a failure; the first that is set counts."""
_RUN = "/run"
_HTTP_ERROR = "ClientResponseError"

RecordFields = dict[str, Any]
"""The fields of a record, not yet validated."""


class RowFailure(NamedTuple):
    """One failure that a row names."""

    event_id: str
    fields: RecordFields


class RowOutcome(NamedTuple):
    """How an attempt ended.

    Attributes:
        failures: All failures that the row names.
        failure_id: The failure that the attempt ended with, or None if it scored in spite of them.
        failure_class: The raw `_ng_failure_class`, or None if the row has none.
        omitted: True if the row says that its report is incomplete.
    """

    failures: tuple[RowFailure, ...]
    failure_id: str | None
    failure_class: str | None = None
    omitted: bool = False


def row_outcome(row: Mapping[str, Any], prefix: str) -> RowOutcome:
    """Return how the attempt of a row ended.

    Args:
        row: A row of results or failures, or an episode response.
        prefix: Begins the ids of failures that have none.
    """
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
    """Combine the documented report of a row with what it says in older forms."""
    failure_class = _text(row, "_ng_failure_class")
    if failure_id is not None and _has_boundary(reported, failure_id):
        return RowOutcome(reported, failure_id, failure_class)
    older = tuple(_linked(_older_records(row, failure_class), f"{prefix}-"))
    if older and (failure_class or _has_no_score(row)):
        # If a report lacks the failure that it names, the older form replaces that one.
        is_incomplete = failure_id is not None
        failures = (*older, *reported)
        return RowOutcome(failures, older[0].event_id, failure_class, omitted=is_incomplete)
    if failure_id is not None:
        return RowOutcome(reported, failure_id, failure_class)
    # The row of an attempt that scored repeats in the older form what its report holds.
    return RowOutcome(reported or older, None, failure_class)


def _has_boundary(reported: tuple[RowFailure, ...], event_id: str) -> bool:
    """True if the failure with this id is in the report and can be a record."""
    fields = dict(reported).get(event_id, {})
    return parse_boundary(fields.get("boundary")) is not None


def _has_no_score(row: Mapping[str, Any]) -> bool:
    """True if a row without a failure class says that there is no valid score."""
    return row.get("mask_sample") is True or episode_failure(row) is not None


def episode_failure(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the `EpisodeFailure` in an episode response or a row, or None if there is none."""
    failure = row.get("failure")
    if not isinstance(failure, dict) or "terminal" not in failure:
        return None
    return failure if isinstance(failure.get("failure_reason"), str) else None


def _reported(row: Mapping[str, Any], nested: Mapping[str, Any]) -> tuple[RowFailure, ...]:
    """Return the documented report of a row, or else `nested`, that of an episode response."""
    events = row.get("_ng_failure_events", nested.get("events"))
    if not isinstance(events, dict):
        return ()
    return tuple(
        RowFailure(event_id, event if isinstance(event, dict) else {})
        for event_id, event in events.items()
    )


def _reported_id(row: Mapping[str, Any], nested: Mapping[str, Any]) -> str | None:
    """Return the id of the failure that the documented report of a row ends with."""
    failure_id = row.get("_ng_failure_id", nested.get("failure_id"))
    return failure_id if isinstance(failure_id, str) else None


def _older_records(row: Mapping[str, Any], failure_class: str | None) -> list[RecordFields]:
    """Return the failure that a row names in an older form, then its causes; empty if none."""
    episode = episode_failure(row)
    if episode is not None:
        return [_episode_record(episode, Boundary.ENVIRONMENT)]
    if failure_class is not None:
        if "_ng_failure_http_status" in row or "_ng_failure_type" in row:
            return _failed_run(row, failure_class)
        return [_classified(row, failure_class)]
    kind, reason = _text(row, "failure_kind"), _text(row, "failure_reason")
    if kind or (reason and row.get("mask_sample") is True):
        boundary = Boundary.RESOURCES_SERVER
        kind = kind or "verifier_error"
        return [_record(boundary, kind, stage="verification", failure_reason=reason)]
    return []


def _classified(row: Mapping[str, Any], failure_class: str) -> RecordFields:
    """Return the record of a failure that a server named by its class in a reply of status 200."""
    meaning = class_meaning(failure_class)
    kind = _text(row, "failure_kind") or meaning.kind
    return _record(
        meaning.boundary,
        kind,
        stage=row.get("_ng_failure_stage") or meaning.stage,
        failure_reason=_message(row),
        # The raw class is kept if the kind has another name.
        operation=None if kind == failure_class else failure_class,
    )


def _failed_run(row: Mapping[str, Any], failure_class: str) -> list[RecordFields]:
    """Return the records of a `/run` call without a result.

    First what the collector saw, then the servers that the reply's body names, each the cause of
    the one before; the last has the innermost exception.
    """
    body = row.get("_ng_failure_response_body")
    parsed = parse_error_body(body) if isinstance(body, str) else ErrorBody((), "")
    records = [
        _record(
            Boundary.COLLECTION,
            failure_class,
            failure_reason=_message(row),
            exception_type=_text(row, "_ng_failure_type"),
            http_status=row.get("_ng_failure_http_status"),
            operation=_RUN,
        )
    ]
    for number, server in enumerate(parsed.servers):
        records.append(_failed_server(server, row, is_first=number == 0))
    if parsed.text:
        exception = parsed.exception or QuotedException(_HTTP_ERROR, parsed.text)
        message = exception.message + ELLIPSIS if parsed.is_cut else exception.message
        records[-1]["foreign_error"] = {
            "exception_type": exception.type_name,
            "message": without_inputs(message),
        }
    return records


def _failed_server(server: FailedServer, row: Mapping[str, Any], *, is_first: bool) -> RecordFields:
    """Return the record of a server that failed because a server that it called did."""
    boundary = _boundary(server, row, is_first=is_first)
    kind = kind_of_error_reply(boundary)
    return _record(boundary, kind, exception_type=_HTTP_ERROR, operation=server.name)


def _boundary(server: FailedServer, row: Mapping[str, Any], *, is_first: bool) -> Boundary:
    """Return the boundary of a server that is known by its class and its name.

    The row may name its type, or its class may. Otherwise the first server below the collector is
    the agent, and what an agent calls and is not a model is a resources server.
    """
    reference = row.get("agent_ref")
    if isinstance(reference, dict) and reference.get("name") == server.name:
        return SERVER_TYPES.get(str(reference.get("type")), Boundary.AGENT)
    if row.get("_ng_environment_server") == server.name or "Environment" in server.class_name:
        return Boundary.ENVIRONMENT
    if "Model" in server.class_name:
        return Boundary.MODEL
    is_agent = is_first or "Agent" in server.class_name
    return Boundary.AGENT if is_agent else Boundary.RESOURCES_SERVER


def _episode_record(failure: Mapping[str, Any], boundary: Boundary) -> RecordFields:
    """Return the record of an `EpisodeFailure`."""
    return _record(
        boundary,
        failure.get("failure_kind") or "environment_server_failed",
        stage=failure.get("stage"),
        failure_reason=failure.get("failure_reason"),
    )


def rollout_failure_fields(failure: Mapping[str, Any]) -> RecordFields:
    """Return the record of a `RolloutFailure`, seen by the environment server or the collector.

    Args:
        failure: A document whose fields are known to be those of a `RolloutFailure`.
    """
    episode = failure["failure"]
    if failure["source"] == "environment":
        boundary, default_kind = Boundary.ENVIRONMENT, "environment_server_failed"
    else:
        boundary, default_kind = Boundary.COLLECTION, "agent_request_failed"
    return {
        **_episode_record(episode, boundary),
        "failure_kind": episode.get("failure_kind") or default_kind,
        "exception_type": failure.get("exception_type"),
        "http_status": failure.get("http_status"),
        "operation": f"{_RUN}, {failure['delivery']}",
    }


def _linked(records: list[RecordFields], prefix: str) -> Iterator[RowFailure]:
    """Yield the records with ids, each caused by the next."""
    for number, record in enumerate(records):
        cause = f"{prefix}{number + 1}" if number + 1 < len(records) else None
        yield RowFailure(f"{prefix}{number}", {**record, "cause_id": cause})


def _record(
    boundary: Boundary, kind: object, failure_reason: object = None, **fields: object
) -> RecordFields:
    """Return the fields of a record; its reason without quoted inputs."""
    reason = without_inputs(failure_reason) if isinstance(failure_reason, str) else failure_reason
    return {"boundary": boundary, "failure_kind": kind, "failure_reason": reason, **fields}


def _message(row: Mapping[str, Any]) -> str | None:
    """Return the message of a row's failure, or None if it has none."""
    return next((text for key in _MESSAGES if (text := _text(row, key))), None)


def _text(row: Mapping[str, Any], key: str) -> str | None:
    """Return the text under a key, or None if it is empty or not a text."""
    value = row.get(key)
    return value if isinstance(value, str) and value else None
