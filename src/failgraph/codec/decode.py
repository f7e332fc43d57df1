"""Attributes back to records. Reads what it can of damaged ones, and names each thing that it could not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from failgraph import semconv
from failgraph.codec.attributes import halved_bytes, read_int, read_text, text_bytes
from failgraph.failure import cause_graph
from failgraph.failure.boundary import parse_boundary
from failgraph.failure.kinds import fits_pattern
from failgraph.failure.records import FailureBoundary, FailureEvent, FailureReport
from failgraph.failure.salvage import salvage
from failgraph.losses import Loss, Losses
from failgraph.text import ID_LENGTH, escape_surrogates, shared

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
_DETAILS = {FailureBoundary.SANDBOX: semconv.SANDBOX, FailureBoundary.MODEL: semconv.MODEL}
_OTHERS = frozenset(
    {
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
)
_TEXTS = frozenset({*_TEXT.values(), *_FOREIGN_TEXT.values()})
_KNOWN = _TEXTS | _OTHERS
_NAME_SETS: dict[frozenset[str], set[str]] = {}
_UNREADABLE = object()
"""Stands for a value of a type that was never written, so that it is named and left out."""


class Decoded(NamedTuple):
    """One failure event read back."""

    event_id: str | None
    event: FailureEvent | None
    """None where it has no id or no boundary, and so is no record."""
    remote: bool
    late: bool
    seq: int
    """Order in the process that wrote it; -1 where that is gone."""
    text_bytes: int
    losses: Losses


def decode_event(attributes: Mapping[str, object]) -> Decoded:
    """One failure of the attributes of its span event, as far as they can be read."""
    losses: list[Loss] = []
    event_id = read_text(attributes, semconv.ID)
    seq = read_int(attributes.get(semconv.SEQ))
    event: FailureEvent | None = None
    present = text_bytes(attributes)
    if event_id is None:
        losses.append(Loss("id_missing", f"an event of kind {read_text(attributes, semconv.KIND)}"))
    else:
        event, found = salvage(event_id, _fields(attributes))
        for model in (event, event.foreign_error, event.details) if event is not None else ():
            _share_names(model)
        losses.extend(found)
        losses.extend(_unread(event_id, attributes, event))
        if seq is None:
            # The first that a limit takes: others, numbers among them, may have gone with it.
            losses.append(Loss("attribute_missing", f"{semconv.SEQ} of {event_id}"))
        losses.extend(_cut(event_id, attributes, present, losses))
        kind = read_text(attributes, semconv.KIND)
        if kind and not fits_pattern(kind):
            losses.append(Loss("unknown_kind", f"{kind} of {event_id}"))
    return Decoded(
        event_id,
        event,
        remote=attributes.get(semconv.REMOTE) is True,
        late=attributes.get(semconv.LATE) is True,
        seq=-1 if seq is None else seq,
        text_bytes=present,
        losses=tuple(losses),
    )


def _share_names(model: BaseModel | None) -> None:
    """Let a frozen model have the set of the names that it was made with in common with those that have the same.

    Such a set takes more memory than all the texts of an event.
    """
    if model is not None:
        names = model.model_fields_set
        object.__setattr__(
            model, "__pydantic_fields_set__", _NAME_SETS.setdefault(frozenset(names), names)
        )


def _fields(attributes: Mapping[str, object]) -> dict[str, Any]:
    fields: dict[str, Any] = {field: _text(attributes, key) for field, key in _TEXT.items()}
    fields["http_status"] = _number(attributes, semconv.HTTP_STATUS)
    foreign = {field: _text(attributes, key) for field, key in _FOREIGN_TEXT.items()}
    foreign["http_status"] = _number(attributes, semconv.FOREIGN_HTTP_STATUS)
    if any(value is not None for value in foreign.values()):
        fields["foreign_error"] = foreign
    boundary = parse_boundary(fields["boundary"])
    prefix = _DETAILS.get(boundary) if boundary is not None else None
    if boundary is not None and prefix is not None:
        details = _details(attributes, prefix)
        if details or attributes.get(semconv.DETAILS) == boundary.value:
            fields["details"] = details
    return fields


def _text(attributes: Mapping[str, object], key: str) -> str | None:
    text = read_text(attributes, key)
    return shared(text) if text is not None and key in semconv.REPEATED else text


def _number(attributes: Mapping[str, object], key: str) -> Any:
    """The integer under `key`; None where there is none, and something that salvage refuses where it is no integer."""
    if key not in attributes:
        return None
    text = read_text(attributes, key)
    number = read_int(attributes[key] if text is None else text)
    return _UNREADABLE if number is None else number


def _details(attributes: Mapping[str, object], prefix: str) -> dict[str, object]:
    details: dict[str, object] = {}
    for key in attributes:
        if key.startswith(prefix) and not key.endswith(semconv.REST):
            name, text = key[len(prefix) :], read_text(attributes, key)
            if name == "exit_code":
                details[name] = _number(attributes, key)
            elif text is not None:
                details[name] = text
            else:
                details[name] = (
                    attributes[key] if isinstance(attributes[key], bool) else _UNREADABLE
                )
    return details


def _unread(
    event_id: str, attributes: Mapping[str, object], event: FailureEvent | None
) -> Iterator[Loss]:
    """What stands there and was not taken: texts of another type, continuations without a beginning, unknown names."""
    own = _DETAILS.get(event.boundary) if event is not None else None
    for key, value in attributes.items():
        if not key.startswith(semconv.PREFIX):
            continue
        name = key.removesuffix(semconv.REST)
        if name in _TEXTS:
            if read_text(attributes, name) is None:
                yield Loss("attribute_missing", f"{name} of {event_id}")
        elif name != key and name not in attributes:
            yield Loss("attribute_missing", f"{name} of {event_id}")
        elif _refused(name, value, event):
            yield Loss("unknown_field", f"{key} of {event_id}")
        elif name not in _KNOWN and (own is None or not name.startswith(own)):
            yield Loss("unknown_field", f"{key[:200]} of {event_id}")


def _refused(key: str, value: object, event: FailureEvent | None) -> bool:
    """Whether a mark says something that it cannot say."""
    if key in (semconv.REMOTE, semconv.LATE):
        return not isinstance(value, bool)
    if key == semconv.DETAILS:
        return event is None or event.details is None or value != event.boundary.value
    return False


def _cut(
    event_id: str, attributes: Mapping[str, object], present: int, losses: Iterable[Loss]
) -> list[Loss]:
    """Less text than was written: since `seq` is the first that a limit takes, where it stands a text was cut."""
    written = read_int(attributes.get(semconv.TEXT_BYTES))
    if written is None:
        return [Loss("attribute_missing", f"{semconv.TEXT_BYTES} of {event_id}")]
    if written == present:
        return []
    gone = any(loss.kind == "attribute_missing" for loss in losses)
    # JSON has no half characters: whoever cuts in the middle of one leaves a mark of three bytes in its place.
    halves = halved_bytes(attributes) if written < present else 0
    if present - halves < written < present:
        return [Loss("text_cut", f"{written - present + halves} bytes of text of {event_id}")]
    if written < present:
        return (
            [] if gone else [Loss("unknown_field", f"text of {event_id} that was not written so")]
        )
    return [
        Loss(
            "attribute_missing" if gone else "text_cut",
            f"{written - present} bytes of text of {event_id}",
        )
    ]


def assemble(
    events: Mapping[str, FailureEvent],
    failure_id: str | None,
    written: Iterable[str] = (),
    omitted: bool = False,
) -> tuple[FailureReport, Losses]:
    """A valid report of `events`: an edge that leads nowhere or closes a cycle is cleared, `written` ids are looked up.

    `omitted` holds in the result where it did before, or where an event is missing.
    """
    losses: list[Loss] = []
    kept = dict(events)
    for key, event in events.items():
        if event.cause_id is not None and event.cause_id not in events:
            losses.append(Loss("cause_missing", f"{event.cause_id}, the cause of {key}"))
            kept[key] = event.model_copy(update={"cause_id": None})
    for key in list(
        cause_graph.closing_edges({key: event.cause_id for key, event in kept.items()})
    ):
        losses.append(Loss("cycle", f"{key} names the cause {kept[key].cause_id}"))
        kept[key] = kept[key].model_copy(update={"cause_id": None})
    missing = dict.fromkeys(
        key for key in (failure_id, *written) if key is not None and key not in kept
    )
    losses.extend(Loss("event_missing", key) for key in missing)
    own = failure_id if failure_id in kept else None
    if own is not None and len(own) > ID_LENGTH:
        losses.append(
            Loss(
                "attribute_missing", f"{semconv.REPORT_ID}: {own} is longer than a report can name"
            )
        )
        own, omitted = None, True
    return FailureReport(events=kept, failure_id=own, omitted=omitted or bool(missing)), tuple(
        losses
    )


def decode(
    events: Iterable[Mapping[str, object]], span_attributes: Mapping[str, object] | None = None
) -> tuple[FailureReport, Losses]:
    """The report of a hop: `events` are the attributes of its failure events, `span_attributes` those of its span.

    Of two copies of an id the observer's own wins; among copies of peers the one with more text. What is damaged or
    missing is named in the losses, and the report is valid all the same.
    """
    span_attributes = span_attributes or {}
    losses: list[Loss] = []
    chosen: dict[str, Decoded] = {}
    unreadable: list[str | None] = []
    for decoded in map(decode_event, events):
        losses.extend(decoded.losses)
        if decoded.event_id is None or decoded.event is None:
            unreadable.append(decoded.event_id)
            continue
        rival = chosen.get(decoded.event_id)
        if rival is not None and not rival.remote and not decoded.remote:
            losses.append(Loss("duplicate", decoded.event_id))
        if rival is None or better(decoded, rival):
            chosen[decoded.event_id] = decoded
    report, found = assemble(
        {key: decoded.event for key, decoded in chosen.items() if decoded.event is not None},
        read_text(span_attributes, semconv.REPORT_ID),
        report_ids_of(span_attributes),
        omitted=says_omitted(span_attributes) or any(key not in chosen for key in unreadable),
    )
    return report, (*losses, *found)


def says_omitted(span_attributes: Mapping[str, object]) -> bool:
    """Whether a hop wrote a report that was not whole: it says so, or its list of ids found no place."""
    listed = (
        semconv.REPORT_IDS in span_attributes
        or semconv.REPORT_SCHEMA_VERSION not in span_attributes
    )
    return span_attributes.get(semconv.REPORT_OMITTED) is True or not listed


def report_ids_of(span_attributes: Mapping[str, object]) -> tuple[str, ...]:
    """The ids that a hop wrote down, in its order."""
    ids = span_attributes.get(semconv.REPORT_IDS)
    return (
        tuple(escape_surrogates(key) for key in ids if isinstance(key, str))
        if isinstance(ids, (list, tuple))
        else ()
    )


def better(one: Decoded, other: Decoded) -> bool:
    """Whether `one` is to be kept before `other`, both of one id."""
    if one.remote != other.remote:
        return other.remote
    return one.remote and one.text_bytes > other.text_bytes
