"""A valid `FailureEvent` from fields that may break its schema, and what had to go: the one lenient way in.

Used where refusing would lose a failure: an exception that is being handled, a record of Gym's own class, a damaged
event read back from a backend.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from failgraph.failure.kinds import OTHER
from failgraph.failure.records import (
    DETAILS_OF,
    FailureBoundary,
    FailureEvent,
    FailureStage,
    SdkErrorDetails,
)
from failgraph.losses import Loss, LossKind
from failgraph.text import ID_LENGTH, bounded_id, cut, escape_surrogates, safe_str

_STAGES = frozenset(get_args(FailureStage))


def _max_lengths(model: type[BaseModel]) -> dict[str, int]:
    found = {}
    for name, field in model.model_fields.items():
        limits = (getattr(rule, "max_length", None) for rule in field.metadata)
        found[name] = next((limit for limit in limits if limit is not None), 0)
    return found


_LENGTHS: dict[type[BaseModel], dict[str, int]] = {
    model: _max_lengths(model) for model in (FailureEvent, SdkErrorDetails, *DETAILS_OF.values())
}

_NO_TEXTS = ("event_id", "boundary", "stage", "http_status", "details", "foreign_error")
_TEXTS = {
    name: limit or sys.maxsize
    for name, limit in _LENGTHS[FailureEvent].items()
    if name not in _NO_TEXTS
}
"""The most characters of each field that is text and nothing else."""


def boundary_of(value: object) -> FailureBoundary | None:
    """The boundary that `value` names (ours, Gym's own, or its text), or None."""
    if value is None or type(value) is FailureBoundary:
        return value
    try:
        return FailureBoundary(value.value if isinstance(value, Enum) else str.__str__(value))
    except Exception:  # noqa: BLE001 - anything may be handed in as a boundary, and none of it may raise
        return None


def fields_of(record: object) -> dict[str, Any]:
    """The fields of a record given as a mapping or as a pydantic model of ours or of Gym's; empty for anything else."""
    if isinstance(record, BaseModel):
        return record.model_dump(mode="json")
    return dict(record) if isinstance(record, Mapping) else {}


def salvage(
    event_id: str, fields: Mapping[str, Any], shorten: Callable[[str, int], str] = cut
) -> tuple[FailureEvent | None, list[Loss]]:
    """An event of `fields`, and what it had to leave out or cut. Without a boundary there is no event: None.

    `shorten` makes a text, which is no id, fit its limit in characters.

    `event_id` wins over one in `fields`. Never raises on the content of `fields`.
    """
    losses: list[Loss] = []

    def lose(kind: LossKind, what: str) -> None:
        losses.append(Loss(kind, f"{what} of {event_id}"))

    boundary = boundary_of(fields.get("boundary"))
    if boundary is None:
        lose("attribute_missing", "boundary")
        return None, losses
    kept: dict[str, Any] = {"event_id": event_id, "boundary": boundary}
    for name, value in fields.items():
        if name in ("event_id", "boundary") or value is None:
            continue
        if type(value) is str and len(value) <= _TEXTS.get(name, -1) and value.isascii():
            kept[name] = value  # as nearly all are
            continue
        try:
            kept[name] = _field(boundary, name, value, lose, shorten)
        except Exception:  # noqa: BLE001 - an object of the user's may raise whatever it is asked
            lose("unknown_field", name)
    if not kept.get("failure_kind"):
        kept["failure_kind"] = OTHER
        lose("attribute_missing", "failure_kind")
    return FailureEvent(
        **{name: value for name, value in kept.items() if value is not None}
    ), losses


def _field(
    boundary: FailureBoundary,
    name: str,
    value: object,
    lose: Any,
    shorten: Callable[[str, int], str],
) -> Any:
    """The value of a field of an event, as it fits the schema; None where it does not."""
    if name not in _LENGTHS[FailureEvent]:
        return lose("unknown_field", safe_str(name)[:80])
    if name == "details":
        return _details(boundary, value, lose, shorten)
    if name == "foreign_error":
        return _part(SdkErrorDetails, value, lose, shorten)
    if name == "http_status":
        return _status(value, lose)
    if name == "stage":
        return _stage(value, lose)
    return _text(name, value, _LENGTHS[FailureEvent][name], lose, shorten)


def _text(
    name: str, value: object, limit: int, lose: Any, shorten: Callable[[str, int], str]
) -> str:
    if not isinstance(value, str):
        lose("unknown_field", name)
    text = escape_surrogates(safe_str(value))
    if limit and len(text) > limit:
        lose("text_cut", name)
        text = bounded_id(text) if limit == ID_LENGTH else shorten(text, limit)
    return text


def _status(value: object, lose: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
        return value
    lose("unknown_field", "http_status")
    return None


def _stage(value: object, lose: Any) -> object:
    if isinstance(value, str) and value in _STAGES:
        return value
    lose("unknown_field", "stage")
    return None


def _details(
    boundary: FailureBoundary, value: object, lose: Any, shorten: Callable[[str, int], str]
) -> BaseModel | None:
    model = DETAILS_OF.get(boundary)
    if model is None:
        lose("unknown_field", "details")
        return None
    return _part(model, value, lose, shorten)


def _part(
    model: type[BaseModel], value: object, lose: Any, shorten: Callable[[str, int], str]
) -> BaseModel | None:
    """`value` as a `model`, without the fields that do not fit."""
    kept: dict[str, Any] = {}
    for name, part in fields_of(value).items():
        if part is None:
            continue
        if name not in _LENGTHS[model]:
            lose("unknown_field", safe_str(name)[:80])
        elif name == "http_status":
            kept[name] = _status(part, lose)
        elif limit := _LENGTHS[model][name]:
            kept[name] = _text(name, part, limit, lose, shorten)
        elif type(part) is (bool if name == "request_upload_complete" else int):
            kept[name] = part
        else:
            lose("unknown_field", name)
    try:
        return model(**kept)
    except ValidationError:
        lose("attribute_missing", model.__name__)
        return None
