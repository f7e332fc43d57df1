"""Record a failure that Gym observed, once, although an exception passes many hooks.

An exception carries the id of the failure that it stands for. Each server that it leaves records
one failure:

- If another server observed the first failure, it is the cause of a new one here.
- In the same process and at the same boundary it is the same failure.
- It is also the same failure if a server called itself: another worker may have served that call.
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

_MAX_CAUSES = 32  # exceptions of a chain that are searched for a reply's body
_MAX_FIELDS = 20  # fields that the reason of a validation error names


class GymFailure(NamedTuple):
    """The facts that a hook knows of a failure, besides its exception.

    The fields are those of a `FailureEvent`. A `reason` of None means the text of the exception.
    """

    boundary: FailureBoundary
    kind: str
    stage: str | None = None
    operation: str | None = None
    attempt_id: str | None = None
    http_status: int | None = None
    details: Mapping[str, Any] | None = None
    reason: str | None = None


def record_failure(
    failure: GymFailure,
    error: BaseException | None = None,
    *,
    cause_id: str | None = None,
    own: bool = False,
    at_once: bool = False,
) -> str | None:
    """Record a failure.

    Args:
        failure: What is known of it.
        error: The exception that it was raised as, which then carries its id.
        cause_id: The id of the failure that caused it.
        own: True if it is the result of the current hop.
        at_once: Record it on a failure span, which is exported before the current span ends.

    Returns:
        Its id, or None if it was not recorded.
    """
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
        fields["foreign_error"] = _foreign_details(foreign) if foreign is not None else None
    event = redact_fields(new_event_id(), fields)
    if event is None:
        return None
    recorder().record(event, NO_HINTS, None, is_own=own, is_urgent=at_once)
    if error is not None:
        set_failure_id(error, event.event_id)
    return event.event_id


def _foreign_details(error: BaseException) -> SdkErrorDetails:
    details = sdk_error_details(error)
    return details.model_copy(update={"message": without_inputs(details.message)})


def record_raised(failure: GymFailure, error: BaseException, *, own: bool = True) -> str | None:
    """Record what `error` means for a server, once.

    Args:
        failure: The failure that it is, if it does not stand for one of this server already.
        error: The exception.
        own: True if the failure is the result of the current hop.

    Returns:
        The id of the failure that `error` stands for, or None if nothing was recorded.
    """
    if carries_failure(error):
        record_leaving(error, trace.get_current_span(), at_birth=True)
    known_id = failure_id_of(error)
    is_same = known_id is not None and (
        _was_observed_at(known_id, failure.boundary) or _called_itself(error)
    )
    if is_same:
        hop = running_hop()
        if own and hop is not None:
            hop.log.claim(known_id)
        return known_id
    cause_id = known_id or _record_quoted_failures(error)
    return record_failure(failure, error, cause_id=cause_id, own=own)


def failure_id_of(error: BaseException) -> str | None:
    """Return the id of the failure that `error`, or its nearest cause, stands for, or None."""
    found = outermost_failure(error, boundary_or_default(None), with_recorded=True)
    return event_id(found) if found is not None else None


def set_failure_id(error: BaseException, failure_id: str) -> None:
    """Make `error` stand for a failure. Count it if the exception takes no attributes."""
    try:
        vars(error)[RECORDED_ID] = failure_id
    except TypeError:
        count("unmarked")


def called_route(error: BaseException) -> str:
    """Return the route of the call whose reply `error` is about; empty if it is about none."""
    return route(_called_url(error).path)


def _called_url(error: BaseException) -> SplitResult:
    """Return the URL of the call whose reply `error` is about; empty if it is about none."""
    return urlsplit(str(getattr(getattr(error, "request_info", None), "real_url", "")))


def _called_itself(error: BaseException) -> bool:
    address = current_gym_request().address
    return bool(address) and _called_url(error).netloc == address


def _was_observed_at(failure_id: str, boundary: FailureBoundary) -> bool:
    hop = running_hop()
    trace_id = hop.trace_id if hop is not None else None
    if not trace_id:
        trace_id = trace.get_current_span().get_span_context().trace_id
    event = recorder().observed(failure_id, trace_id)
    return event is not None and event.boundary is boundary


def _record_quoted_failures(error: BaseException) -> str | None:
    """Record the failures that the 500 of an inner server quotes, causes first.

    Returns:
        The id of that server's own failure, or None if nothing was recorded.
    """
    replied: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if replied is None or isinstance(getattr(replied, "response_content", None), bytes):
            break
        replied = explicit_cause(replied)
    cause_id: str | None = None
    with guard("reading the body of a reply"):
        for quoted in quoted_failures.failures_quoted_by(replied):
            failure = GymFailure(
                quoted.boundary,
                quoted.kind,
                quoted.stage,
                operation=quoted.operation,
                http_status=quoted.http_status,
                reason=quoted.reason,
            )
            cause_id = record_failure(failure, cause_id=cause_id)
    return cause_id


def reason_of(error: BaseException | None) -> str:
    """Return the text of an exception; of a validation error without the input that it quotes."""
    if error is None:
        return ""
    list_errors = getattr(error, "errors", None)
    if type(error).__name__ != "ValidationError" or not callable(list_errors):
        return safe_str(error)
    with guard("reading a validation error"):
        errors = list_errors(include_url=False, include_context=False, include_input=False)
        texts = [
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in errors[:_MAX_FIELDS]
        ]
        title = getattr(error, "title", "?")
        return f"{len(errors)} validation errors for {title}: {'; '.join(texts)}"
    return type(error).__name__
