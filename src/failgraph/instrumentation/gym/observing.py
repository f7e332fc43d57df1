"""A failure that Gym observed, written once: an exception that passes many hooks is one failure in each server.

An exception carries the id of the failure that it stands for. Where it leaves another server than the one that observed
that failure, it is a new failure there, which the first one caused; in the same process and at the same boundary it is
the same one, and so it is where a server called itself, of which another worker may have served that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from opentelemetry import trace

from failgraph.diagnostics import count, guard
from failgraph.exceptions.boundaries import boundary_or_default
from failgraph.exceptions.cause_chain import (
    RECORDED_ID,
    carries_failure,
    event_id,
    explicit_cause,
    outermost_failure,
)
from failgraph.exceptions.foreign_errors import http_status_of, sdk_error_details
from failgraph.failure.boundary import FailureBoundary
from failgraph.failure.ids import new_event_id
from failgraph.failure.records import SdkErrorDetails
from failgraph.gym_formats.validation_errors import without_inputs
from failgraph.instrumentation.gym import quoted_failures
from failgraph.instrumentation.gym.current_request import current_gym_request
from failgraph.instrumentation.gym.vocabulary import route
from failgraph.recording.api import record_leaving
from failgraph.recording.hop import running_hop
from failgraph.recording.observation import NO_HINTS
from failgraph.recording.recorder import recorder
from failgraph.redaction import redact_fields
from failgraph.settings import current
from failgraph.text import safe_str

_MAX_CAUSES = 32
_MAX_FIELDS = 20
"""Fields that the reason of a validation error names."""


class GymFailure(NamedTuple):
    """What is known of a failure beside its exception."""

    boundary: FailureBoundary
    kind: str
    stage: str | None = None
    operation: str | None = None
    attempt_id: str | None = None
    http_status: int | None = None
    details: Mapping[str, Any] | None = None
    reason: str | None = None
    """None: the text of the exception."""


def record_failure(
    failure: GymFailure,
    error: BaseException | None = None,
    *,
    cause_id: str | None = None,
    own: bool = False,
    at_once: bool = False,
) -> str | None:
    """Write a failure, with `error` as what raised it; its id. None where nothing is written."""
    if current().enabled is False:
        return None
    reason = reason_of(error) if failure.reason is None else failure.reason
    fields: dict[str, Any] = {
        "boundary": failure.boundary,
        "failure_kind": failure.kind,
        "failure_reason": without_inputs(reason),
        "stage": failure.stage,
        "operation": failure.operation,
        "attempt_id": failure.attempt_id,
        "http_status": failure.http_status,
        "details": failure.details,
        "cause_id": cause_id,
    }
    if error is not None:
        foreign = explicit_cause(error)
        fields["exception_type"] = type(error).__name__
        fields["http_status"] = failure.http_status or http_status_of(error)
        fields["foreign_error"] = _details_of(foreign) if foreign is not None else None
    event = redact_fields(new_event_id(), fields)
    if event is None:
        return None
    recorder().record(event, NO_HINTS, None, is_own=own, is_urgent=at_once)
    if error is not None:
        set_failure_id(error, event.event_id)
    return event.event_id


def _details_of(error: BaseException) -> SdkErrorDetails:
    details = sdk_error_details(error)
    return details.model_copy(update={"message": without_inputs(details.message)})


def record_raised(failure: GymFailure, error: BaseException, *, own: bool = True) -> str | None:
    """Write what `error` does to a server, once: the failure that it stands for is the cause, or this one already."""
    if carries_failure(error):
        record_leaving(error, trace.get_current_span(), at_birth=True)
    known = failure_id_of(error)
    if known is not None and (_was_observed_at(known, failure.boundary) or _called_itself(error)):
        hop = running_hop()
        if own and hop is not None:
            hop.log.claim(known)
        return known
    return record_failure(failure, error, cause_id=known or _record_quoted_failures(error), own=own)


def failure_id_of(error: BaseException) -> str | None:
    """The id of the failure that an exception, or what caused it, stands for."""
    found = outermost_failure(error, boundary_or_default(None), with_recorded=True)
    return event_id(found) if found is not None else None


def set_failure_id(error: BaseException, failure_id: str) -> None:
    """Remember which failure an exception stands for."""
    try:
        vars(error)[RECORDED_ID] = failure_id
    except TypeError:
        count("unmarked")


def called_route(error: BaseException) -> str:
    """The route of the request whose reply an exception is about; empty where it is about none."""
    return route(_called_url(error).path)


def _called_url(error: BaseException) -> SplitResult:
    """The URL of the request whose reply an exception is about; empty where it is about none."""
    return urlsplit(str(getattr(getattr(error, "request_info", None), "real_url", "")))


def _called_itself(error: BaseException) -> bool:
    return (
        bool(current_gym_request().address)
        and _called_url(error).netloc == current_gym_request().address
    )


def _was_observed_at(failure_id: str, boundary: FailureBoundary) -> bool:
    hop = running_hop()
    trace_id = (
        hop.trace_id if hop is not None else None
    ) or trace.get_current_span().get_span_context().trace_id
    event = recorder().observed(failure_id, trace_id)
    return event is not None and event.boundary is boundary


def _record_quoted_failures(error: BaseException) -> str | None:
    """The failures that the text of an inner server's 500 quotes, innermost first; the id of that server's own."""
    asked: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if asked is None or isinstance(getattr(asked, "response_content", None), bytes):
            break
        asked = explicit_cause(asked)
    told: str | None = None
    with guard("reading the body of a reply"):
        for level in quoted_failures.failures_quoted_by(asked):
            told = record_failure(
                GymFailure(
                    level.boundary,
                    level.kind,
                    level.stage,
                    operation=level.operation,
                    http_status=level.http_status,
                    reason=level.reason,
                ),
                cause_id=told,
            )
    return told


def reason_of(error: BaseException | None) -> str:
    """The text of an exception; of a validation error without the input that it quotes."""
    if error is None:
        return ""
    listed = getattr(error, "errors", None)
    if type(error).__name__ != "ValidationError" or not callable(listed):
        return safe_str(error)
    with guard("reading a validation error"):
        found = listed(include_url=False, include_context=False, include_input=False)
        told = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found[:_MAX_FIELDS]]
        return (
            f"{len(found)} validation errors for {getattr(error, 'title', '?')}: {'; '.join(told)}"
        )
    return type(error).__name__
