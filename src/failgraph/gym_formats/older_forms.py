"""The failures that a row names in a form older than the documented report, as fields of records.

These are the keys `_ng_failure_*` of the sidecar file, `failure_kind` and `failure_reason` of a
verify response, and the `EpisodeFailure` of an environment server, alone or in a `RolloutFailure`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failgraph.failure.boundary import FailureBoundary as Boundary
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


def episode_failure(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the `EpisodeFailure` in an episode response or a row, or None if there is none."""
    failure = row.get("failure")
    if not isinstance(failure, dict) or "terminal" not in failure:
        return None
    return failure if isinstance(failure.get("failure_reason"), str) else None


def older_records(row: Mapping[str, Any], failure_class: str | None) -> list[RecordFields]:
    """Return the failure that a row names in an older form, then its causes; empty if none."""
    episode = episode_failure(row)
    if episode is not None:
        return [_episode_record(episode, Boundary.ENVIRONMENT)]
    if failure_class is not None:
        if "_ng_failure_http_status" in row or "_ng_failure_type" in row:
            return _failed_run(row, failure_class)
        return [_classified(row, failure_class)]
    kind, reason = text_value(row, "failure_kind"), text_value(row, "failure_reason")
    if kind or (reason and row.get("mask_sample") is True):
        boundary = Boundary.RESOURCES_SERVER
        kind = kind or "verifier_error"
        return [_record(boundary, kind, stage="verification", failure_reason=reason)]
    return []


def _classified(row: Mapping[str, Any], failure_class: str) -> RecordFields:
    """Return the record of a failure that a server named by its class in a reply of status 200."""
    meaning = class_meaning(failure_class)
    kind = text_value(row, "failure_kind") or meaning.kind
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
            exception_type=text_value(row, "_ng_failure_type"),
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


def _record(
    boundary: Boundary, kind: object, failure_reason: object = None, **fields: object
) -> RecordFields:
    """Return the fields of a record; its reason without quoted inputs."""
    reason = without_inputs(failure_reason) if isinstance(failure_reason, str) else failure_reason
    return {"boundary": boundary, "failure_kind": kind, "failure_reason": reason, **fields}


def _message(row: Mapping[str, Any]) -> str | None:
    """Return the message of a row's failure, or None if it has none."""
    return next((text for key in _MESSAGES if (text := text_value(row, key))), None)


def text_value(row: Mapping[str, Any], key: str) -> str | None:
    """Return the text under a key of a row, or None if it is empty or not a text."""
    value = row.get(key)
    return value if isinstance(value, str) and value else None
