"""Encode one failure event as attributes.

What must survive stands last, because the SDK keeps the last N attributes of an event.
"""

from __future__ import annotations

from typing import NamedTuple

from failgraph import semconv
from failgraph.codec.attributes import (
    NO_LIMITS,
    SURELY_SHORT,
    AttributeLimits,
    Attributes,
    int_attributes,
    text_attributes,
    text_bytes,
)
from failgraph.failure.kinds import OTHER, fits_pattern
from failgraph.failure.records import FailureEvent, SandboxFailureDetails

# A message without its type is no record and half a span context is useless: each of these goes
# together with the attribute before it.
_PAIRED_WITH_PREVIOUS = frozenset({semconv.FOREIGN_TYPE, semconv.CAUSE_SPAN_ID})


class CauseSpan(NamedTuple):
    """The span that holds the event of a cause.

    Attributes:
        trace_id: 32 hex digits.
        span_id: 16 hex digits.
    """

    trace_id: str
    span_id: str


def encode_event(
    event: FailureEvent,
    *,
    seq: int = 0,
    remote: bool = False,
    late: bool = False,
    cause: CauseSpan | None = None,
    limits: AttributeLimits = NO_LIMITS,
) -> Attributes:
    """Return the attributes of one failure event, its identity last.

    Args:
        event: Its text must be valid UTF-8, as in every validated record.
        seq: The order of the failure among those that its process wrote.
        remote: True for a copy that a peer sent which did not record the failure itself.
        late: True if the failure was recorded after the report of its hop was written.
        cause: The span of the event's cause, if it is known.
        limits: If they are too small, the first attributes are left out: they matter least.
    """
    length = limits.value_length
    attributes: Attributes = {semconv.SEQ: seq}
    _put_details(attributes, event, length)
    _put_foreign_error(attributes, event, length)
    _put(attributes, semconv.ATTEMPT_ID, event.attempt_id, length)
    _put(attributes, semconv.OPERATION_ID, event.operation_id, length)
    _put(attributes, semconv.OPERATION, event.operation, length)
    _put(attributes, semconv.EXCEPTION_TYPE, event.exception_type, length)
    if event.http_status is not None:
        attributes[semconv.HTTP_STATUS] = event.http_status
    _put(attributes, semconv.STAGE, event.stage, length)
    _put(attributes, semconv.REASON, event.failure_reason or None, length)
    if cause is not None and (length is None or length >= len(cause.trace_id)):
        attributes[semconv.CAUSE_TRACE_ID], attributes[semconv.CAUSE_SPAN_ID] = cause
    attributes[semconv.ERROR_TYPE] = _error_type(event.failure_kind, length)
    attributes[semconv.TEXT_BYTES] = 0  # set below, when all texts are known
    if late:
        attributes[semconv.LATE] = True
    if remote:
        attributes[semconv.REMOTE] = True
    _put(attributes, semconv.CAUSE_ID, event.cause_id, length)
    _put(attributes, semconv.BOUNDARY, event.boundary.value, length)
    _put(attributes, semconv.KIND, event.failure_kind, length)
    _put(attributes, semconv.ID, event.event_id, length)
    attributes[semconv.TEXT_BYTES] = text_bytes(attributes)
    if limits.attributes is None or len(attributes) <= limits.attributes:
        return attributes
    return _without_the_first(attributes, limits.attributes)


def _put(attributes: Attributes, key: str, text: str | None, length: int | None) -> None:
    """Add a text, continued if one value cannot hold it. Add nothing if the text is absent."""
    if text is None:
        return
    if len(text) <= SURELY_SHORT and (length is None or len(text) <= length):
        attributes[key] = text
    else:
        attributes.update(text_attributes(key, text, length))


def _put_details(attributes: Attributes, event: FailureEvent, length: int | None) -> None:
    if event.details is None:
        return
    sandbox = isinstance(event.details, SandboxFailureDetails)
    prefix = semconv.SANDBOX if sandbox else semconv.MODEL
    fields = {name: value for name, value in event.details if value is not None}
    if not fields:
        attributes[semconv.DETAILS] = "sandbox" if sandbox else "model"
    for name, value in fields.items():
        if isinstance(value, str):
            _put(attributes, prefix + name, value, length)
        else:
            attributes.update(int_attributes(prefix + name, value, length))  # keeps a bool


def _put_foreign_error(attributes: Attributes, event: FailureEvent, length: int | None) -> None:
    foreign = event.foreign_error
    if foreign is None:
        return
    if foreign.http_status is not None:
        attributes[semconv.FOREIGN_HTTP_STATUS] = foreign.http_status
    _put(attributes, semconv.FOREIGN_MESSAGE, foreign.message, length)
    _put(attributes, semconv.FOREIGN_TYPE, foreign.exception_type, length)


def _error_type(kind: str, length: int | None) -> str:
    """Return the kind, or `_OTHER` if it fits no name pattern or one value cannot hold it."""
    limit = semconv.CHUNK_BYTES if length is None else length
    return kind if len(kind) <= limit and fits_pattern(kind) else OTHER


def _without_the_first(attributes: Attributes, limit: int) -> Attributes:
    """Leave out the first attributes until at most `limit` remain.

    The last text always stays, with its continuation. `seq` goes before all others, so a reader
    that finds it knows that nothing was left out.
    """
    possible_starts = [
        position
        for position, key in enumerate(attributes)
        if not key.endswith(semconv.REST) and key not in _PAIRED_WITH_PREVIOUS
    ]
    start = next(
        (position for position in possible_starts if len(attributes) - position <= limit),
        possible_starts[-1],
    )
    return dict(list(attributes.items())[start:])
