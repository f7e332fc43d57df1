"""Make a valid `FailureEvent` from fields that may break its schema: the one lenient way in.

Used where a refusal would lose a failure: an exception that is being handled, a record of Gym's
own class, a damaged event read back from a backend.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from failgraph.failure.boundary import FailureBoundary, parse_boundary
from failgraph.failure.details import DETAILS_OF
from failgraph.failure.kinds import OTHER
from failgraph.failure.records import FailureEvent, FailureStage, SdkErrorDetails
from failgraph.losses import Loss, LossKind
from failgraph.text import MAX_ID_LENGTH, bounded_id, escape_surrogates, safe_str, truncate

# Shortens a text that is no id to a limit in characters.
Shorten = Callable[[str, int], str]

UNREADABLE: Final = object()  # given for a field whose value cannot be read; it is left out

_STAGES = frozenset(get_args(FailureStage))


def _length_limits(model: type[BaseModel]) -> dict[str, int]:
    """Return the longest text of each field in characters, 0 for a field without such a limit."""
    limits = {}
    for name, field in model.model_fields.items():
        rules = (getattr(rule, "max_length", None) for rule in field.metadata)
        limits[name] = next((limit for limit in rules if limit is not None), 0)
    return limits


_LENGTH_LIMITS: dict[type[BaseModel], dict[str, int]] = {
    model: _length_limits(model) for model in (FailureEvent, SdkErrorDetails, *DETAILS_OF.values())
}
_NOT_PLAIN_TEXT = ("event_id", "boundary", "stage", "http_status", "details", "foreign_error")
_PLAIN_TEXT_LIMITS = {
    name: limit or sys.maxsize
    for name, limit in _LENGTH_LIMITS[FailureEvent].items()
    if name not in _NOT_PLAIN_TEXT
}


class Salvaged(NamedTuple):
    """A repaired event and the repairs.

    Attributes:
        event: None if the fields name no boundary, since there is no event without one.
        losses: What had to be left out or cut.
    """

    event: FailureEvent | None
    losses: tuple[Loss, ...]


class _Damage(NamedTuple):
    kind: LossKind
    what: str  # a field, or a model that could not be built


class _Repaired(NamedTuple):
    value: Any  # fits the schema, or None if the field must be left out
    damage: tuple[_Damage, ...] = ()


def fields_of(record: object) -> dict[str, Any]:
    """Return the fields of a record, empty if it is none.

    Args:
        record: A mapping, or a pydantic model of ours or of Gym's.
    """
    if isinstance(record, BaseModel):
        return record.model_dump(mode="json")
    return dict(record) if isinstance(record, Mapping) else {}


def salvage(event_id: str, fields: Mapping[str, Any], shorten: Shorten = truncate) -> Salvaged:
    """Build an event from as many fields as fit the schema. Never raises on their content.

    Args:
        event_id: Wins over an `event_id` in `fields`.
        fields: By name, as in `FailureEvent`. Absent fields may be None.
        shorten: Makes a text fit its limit in characters. Ids are shortened by a digest instead,
            so that edges that name them still meet.
    """
    boundary = parse_boundary(fields.get("boundary"))
    if boundary is None:
        return Salvaged(None, (Loss("attribute_missing", f"boundary of {event_id}"),))
    values: dict[str, Any] = {"event_id": event_id, "boundary": boundary}
    damage: list[_Damage] = []
    for name, value in fields.items():
        if name in ("event_id", "boundary") or value is None:
            continue
        if (
            type(value) is str
            and len(value) <= _PLAIN_TEXT_LIMITS.get(name, -1)
            and value.isascii()
        ):
            values[name] = value  # the common case, kept fast
            continue
        try:
            repaired = _repair(boundary, name, value, shorten)
        except Exception:  # noqa: BLE001 - a user's object may raise anything when it is read
            repaired = _left_out(name)
        values[name] = repaired.value
        damage.extend(repaired.damage)
    if not values.get("failure_kind"):
        values["failure_kind"] = OTHER
        damage.append(_Damage("attribute_missing", "failure_kind"))
    event = FailureEvent(**{name: value for name, value in values.items() if value is not None})
    losses = [Loss(kind, f"{what} of {event_id}") for kind, what in damage]
    return Salvaged(event, tuple(losses))


def _repair(boundary: FailureBoundary, name: str, value: object, shorten: Shorten) -> _Repaired:
    """Make the value of one field of an event fit the schema."""
    if name not in _LENGTH_LIMITS[FailureEvent]:
        return _left_out(name)
    if name == "details":
        details_model = DETAILS_OF.get(boundary)
        return _repair_model(details_model, value, shorten) if details_model else _left_out(name)
    if name == "foreign_error":
        return _repair_model(SdkErrorDetails, value, shorten)
    if name == "http_status":
        return _repair_status(value)
    if name == "stage":
        return _Repaired(value) if isinstance(value, str) and value in _STAGES else _left_out(name)
    return _repair_text(name, value, _LENGTH_LIMITS[FailureEvent][name], shorten)


def _left_out(name: str) -> _Repaired:
    return _Repaired(None, (_Damage("unknown_field", safe_str(name)[:80]),))


def _repair_text(name: str, value: object, limit: int, shorten: Shorten) -> _Repaired:
    if value is UNREADABLE:
        return _left_out(name)
    damage: list[_Damage] = []
    if not isinstance(value, str):
        damage.append(_Damage("unknown_field", name))
    text = escape_surrogates(safe_str(value))
    if limit and len(text) > limit:
        damage.append(_Damage("text_cut", name))
        text = bounded_id(text) if limit == MAX_ID_LENGTH else shorten(text, limit)
    return _Repaired(text, tuple(damage))


def _repair_status(value: object) -> _Repaired:
    if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
        return _Repaired(value)
    return _left_out("http_status")


def _repair_model(model: type[BaseModel], value: object, shorten: Shorten) -> _Repaired:
    """Build a `model` without the fields that do not fit it."""
    limits = _LENGTH_LIMITS[model]
    values: dict[str, Any] = {}
    damage: list[_Damage] = []
    for name, part in fields_of(value).items():
        if part is None:
            continue
        if type(part) is str and part.isascii() and 0 < len(part) <= limits.get(name, 0):
            values[name] = part
            continue
        if name not in limits:
            repaired = _left_out(name)
        elif name == "http_status":
            repaired = _repair_status(part)
        elif limits[name]:
            repaired = _repair_text(name, part, limits[name], shorten)
        elif type(part) is (bool if name == "request_upload_complete" else int):
            repaired = _Repaired(part)
        else:
            repaired = _left_out(name)
        if repaired.value is not None:
            values[name] = repaired.value
        damage.extend(repaired.damage)
    try:
        return _Repaired(model(**values), tuple(damage))
    except ValidationError:
        damage.append(_Damage("attribute_missing", model.__name__))
        return _Repaired(None, tuple(damage))
