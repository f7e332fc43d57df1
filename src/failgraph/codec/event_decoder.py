"""Decode one failure event from its attributes: read what a damaged one still holds, name the rest.

Text that is not valid UTF-8 is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from failgraph import semconv
from failgraph.codec.attributes import (
    read_int,
    read_text,
    text_bytes,
    trailing_replacement_bytes,
)
from failgraph.failure.boundary import FailureBoundary, parse_boundary
from failgraph.failure.kinds import fits_pattern
from failgraph.failure.records import FailureEvent
from failgraph.failure.salvage import UNREADABLE, salvage
from failgraph.losses import Loss, Losses, LossKind
from failgraph.text import interned

_TEXT = {
    "boundary": semconv.BOUNDARY,
    "failure_kind": semconv.KIND,
    "failure_reason": semconv.REASON,
    "stage": semconv.STAGE,
    "cause_id": semconv.CAUSE_ID,
    "operation": semconv.OPERATION,
    "operation_id": semconv.OPERATION_ID,
    "attempt_id": semconv.ATTEMPT_ID,
    "exception_type": semconv.EXCEPTION_TYPE,
}
_FOREIGN_TEXT = {"exception_type": semconv.FOREIGN_TYPE, "message": semconv.FOREIGN_MESSAGE}
_DETAILS_PREFIX = {FailureBoundary.SANDBOX: semconv.SANDBOX, FailureBoundary.MODEL: semconv.MODEL}
_TEXT_KEYS = frozenset({*_TEXT.values(), *_FOREIGN_TEXT.values()})
_KNOWN_KEYS = _TEXT_KEYS | {
    semconv.ID,
    semconv.HTTP_STATUS,
    semconv.FOREIGN_HTTP_STATUS,
    semconv.DETAILS,
    semconv.CAUSE_TRACE_ID,
    semconv.CAUSE_SPAN_ID,
    semconv.SEQ,
    semconv.TEXT_BYTES,
    semconv.REMOTE,
    semconv.LATE,
}
_FIELD_SETS: dict[frozenset[str], set[str]] = {}


class DecodedEvent(NamedTuple):
    """One failure event as read back.

    Attributes:
        event_id: None if it is missing.
        event: None if the id or the boundary is missing, since there is no record without them.
        remote: True for a copy that a peer sent which did not record the failure itself.
        late: True if the failure was recorded after the report of its hop was written.
        seq: The order among the failures that its process wrote, -1 if it is missing.
        text_bytes: UTF-8 bytes of all its texts, as they arrived.
        losses: What is damaged or missing.
    """

    event_id: str | None
    event: FailureEvent | None
    remote: bool
    late: bool
    seq: int
    text_bytes: int
    losses: Losses


def decode_event(attributes: Mapping[str, object]) -> DecodedEvent:
    """Read one failure from the attributes of its span event. Never raises on their content."""
    event_id = read_text(attributes, semconv.ID)
    seq = read_int(attributes.get(semconv.SEQ))
    arrived_bytes = text_bytes(attributes)
    event: FailureEvent | None = None
    if event_id is None:
        kind = read_text(attributes, semconv.KIND)
        losses: Losses = (Loss("id_missing", f"an event of kind {kind}"),)
    else:
        event, salvage_losses = salvage(event_id, _fields(attributes))
        if event is not None:
            _share_field_sets(event, event.foreign_error, event.details)
        losses = tuple(_losses(event_id, event, attributes, salvage_losses, arrived_bytes))
    return DecodedEvent(
        event_id,
        event,
        remote=attributes.get(semconv.REMOTE) is True,
        late=attributes.get(semconv.LATE) is True,
        seq=-1 if seq is None else seq,
        text_bytes=arrived_bytes,
        losses=losses,
    )


def is_better_copy(copy: DecodedEvent, other: DecodedEvent) -> bool:
    """Return True if `copy` is to be kept instead of `other`, which has the same id.

    The observer's own copy wins; of two copies from peers the one with more text.
    """
    if copy.remote != other.remote:
        return other.remote
    return copy.remote and copy.text_bytes > other.text_bytes


def _share_field_sets(*models: BaseModel | None) -> None:
    """Let frozen models with the same fields share one set of field names.

    Such a set takes more memory than all texts of an event.
    """
    for model in models:
        if model is not None:
            names = model.model_fields_set
            shared_names = _FIELD_SETS.setdefault(frozenset(names), names)
            object.__setattr__(model, "__pydantic_fields_set__", shared_names)


def _fields(attributes: Mapping[str, object]) -> dict[str, Any]:
    """Return the fields of the record by name, None for an absent one."""
    fields: dict[str, Any] = {field: _read_shared(attributes, key) for field, key in _TEXT.items()}
    fields["http_status"] = _read_number(attributes, semconv.HTTP_STATUS)
    foreign: dict[str, object] = {
        field: _read_shared(attributes, key) for field, key in _FOREIGN_TEXT.items()
    }
    foreign["http_status"] = _read_number(attributes, semconv.FOREIGN_HTTP_STATUS)
    if any(value is not None for value in foreign.values()):
        fields["foreign_error"] = foreign
    boundary = parse_boundary(fields["boundary"])
    prefix = _DETAILS_PREFIX.get(boundary) if boundary is not None else None
    if boundary is not None and prefix is not None:
        details = _details(attributes, prefix)
        if details or attributes.get(semconv.DETAILS) == boundary.value:
            fields["details"] = details
    return fields


def _read_shared(attributes: Mapping[str, object], key: str) -> str | None:
    """Return the text under `key`, as one object for the texts that come again and again."""
    text = read_text(attributes, key)
    return interned(text) if text is not None and key in semconv.REPEATED else text


def _read_number(attributes: Mapping[str, object], key: str) -> object:
    """Return the integer under `key`, None if it is absent, `UNREADABLE` if it is no integer."""
    if key not in attributes:
        return None
    text = read_text(attributes, key)
    number = read_int(attributes[key] if text is None else text)
    return UNREADABLE if number is None else number


def _details(attributes: Mapping[str, object], prefix: str) -> dict[str, object]:
    return {
        key[len(prefix) :]: _detail(attributes, key, key[len(prefix) :])
        for key in attributes
        if key.startswith(prefix) and not key.endswith(semconv.REST)
    }


def _detail(attributes: Mapping[str, object], key: str, field: str) -> object:
    if field == "exit_code":
        return _read_number(attributes, key)
    text = read_text(attributes, key)
    if text is not None:
        return text
    return attributes[key] if isinstance(attributes[key], bool) else UNREADABLE


def _losses(
    event_id: str,
    event: FailureEvent | None,
    attributes: Mapping[str, object],
    salvage_losses: Losses,
    arrived_bytes: int,
) -> list[Loss]:
    """Return the losses of the fields, then those that only the attributes show."""
    losses = [*salvage_losses, *_unread(event_id, attributes, event)]
    if read_int(attributes.get(semconv.SEQ)) is None:
        # `seq` is the first that a limit takes: others, numbers among them, may be gone too.
        losses.append(Loss("attribute_missing", f"{semconv.SEQ} of {event_id}"))
    losses.extend(_text_losses(event_id, attributes, arrived_bytes, losses))
    kind = read_text(attributes, semconv.KIND)
    if kind and not fits_pattern(kind):
        losses.append(Loss("unknown_kind", f"{kind} of {event_id}"))
    return losses


def _unread(
    event_id: str, attributes: Mapping[str, object], event: FailureEvent | None
) -> Iterator[Loss]:
    """Yield what was not read: wrong types, continuations without a beginning, unknown names."""
    details_prefix = _DETAILS_PREFIX.get(event.boundary) if event is not None else None
    for key, value in attributes.items():
        if not key.startswith(semconv.PREFIX):
            continue
        name = key.removesuffix(semconv.REST)
        if name in _TEXT_KEYS:
            if read_text(attributes, name) is None:
                yield Loss("attribute_missing", f"{name} of {event_id}")
        elif name != key and name not in attributes:
            yield Loss("attribute_missing", f"{name} of {event_id}")
        elif _is_invalid_flag(name, value, event):
            yield Loss("unknown_field", f"{key} of {event_id}")
        elif name not in _KNOWN_KEYS and (
            details_prefix is None or not name.startswith(details_prefix)
        ):
            yield Loss("unknown_field", f"{key[:200]} of {event_id}")


def _is_invalid_flag(key: str, value: object, event: FailureEvent | None) -> bool:
    """Return True if `key` is a flag or `details` with a value that is never written."""
    if key in (semconv.REMOTE, semconv.LATE):
        return not isinstance(value, bool)
    if key == semconv.DETAILS:
        return event is None or event.details is None or value != event.boundary.value
    return False


def _text_losses(
    event_id: str, attributes: Mapping[str, object], arrived_bytes: int, losses: Sequence[Loss]
) -> list[Loss]:
    """Compare the text that arrived with the bytes that were written.

    `seq` is the first attribute that a limit takes. So if none of `losses` is a missing attribute,
    a text was cut.
    """
    written_bytes = read_int(attributes.get(semconv.TEXT_BYTES))
    if written_bytes is None:
        return [Loss("attribute_missing", f"{semconv.TEXT_BYTES} of {event_id}")]
    missing_bytes = written_bytes - arrived_bytes
    if missing_bytes == 0:
        return []
    attribute_missing = any(loss.kind == "attribute_missing" for loss in losses)
    if missing_bytes > 0:
        kind: LossKind = "attribute_missing" if attribute_missing else "text_cut"
        return [Loss(kind, f"{missing_bytes} bytes of text of {event_id}")]
    # A cut inside a character leaves U+FFFD in JSON: three bytes that were never written.
    missing_bytes += trailing_replacement_bytes(attributes)
    if missing_bytes > 0:
        return [Loss("text_cut", f"{missing_bytes} bytes of text of {event_id}")]
    if attribute_missing:
        return []
    return [Loss("unknown_field", f"text of {event_id} that was not written so")]
