"""Attributes back to records. Reads what it can of damaged ones, and names each thing that it could not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from failgraph import graph, semconv
from failgraph.codec.attributes import read_int, read_text, text_bytes
from failgraph.kinds import fits_pattern
from failgraph.losses import Loss, Losses
from failgraph.records import FailureBoundary, FailureEvent, FailureReport
from failgraph.salvage import boundary_of, salvage

_TEXT = {
    "failure_kind": semconv.KIND,
    "failure_reason": semconv.REASON,
    "stage": semconv.STAGE,
    "cause_id": semconv.CAUSE_ID,
    "operation": semconv.OPERATION,
    "operation_id": semconv.OPERATION_ID,
    "attempt_id": semconv.ATTEMPT_ID,
    "exception_type": semconv.EXCEPTION_TYPE,
}
_DETAILS = {FailureBoundary.SANDBOX: semconv.SANDBOX, FailureBoundary.MODEL: semconv.MODEL}
_INTEGERS = frozenset({"exit_code"})


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
        losses.extend(found)
        losses.extend(_orphans(event_id, attributes))
        if seq is None:
            # The first that a limit takes: others, numbers among them, may have gone with it.
            losses.append(Loss("attribute_missing", f"{semconv.SEQ} of {event_id}"))
        losses.extend(_cut(event_id, attributes, present, attribute_gone=bool(losses)))
        if event is not None and not fits_pattern(event.failure_kind):
            losses.append(Loss("unknown_kind", f"{event.failure_kind} of {event_id}"))
    return Decoded(
        event_id,
        event,
        remote=attributes.get(semconv.REMOTE) is True,
        late=attributes.get(semconv.LATE) is True,
        seq=-1 if seq is None else seq,
        text_bytes=present,
        losses=tuple(losses),
    )


def _fields(attributes: Mapping[str, object]) -> dict[str, Any]:
    fields: dict[str, Any] = {field: read_text(attributes, key) for field, key in _TEXT.items()}
    boundary = boundary_of(read_text(attributes, semconv.BOUNDARY))
    fields["boundary"] = boundary
    fields["http_status"] = _number(attributes.get(semconv.HTTP_STATUS))
    foreign = {
        "exception_type": read_text(attributes, semconv.FOREIGN_TYPE),
        "message": read_text(attributes, semconv.FOREIGN_MESSAGE),
        "http_status": _number(attributes.get(semconv.FOREIGN_HTTP_STATUS)),
    }
    if any(value is not None for value in foreign.values()):
        fields["foreign_error"] = foreign
    for owner, prefix in _DETAILS.items():
        details = _details(attributes, prefix)
        if details or attributes.get(semconv.DETAILS) == owner.value:
            fields["details"] = details
    return fields


def _number(value: object) -> object:
    # What is no integer goes on as it is, so that salvage names it.
    number = read_int(value)
    return value if number is None else number


def _details(attributes: Mapping[str, object], prefix: str) -> dict[str, object]:
    keys = (key for key in attributes if key.startswith(prefix) and not key.endswith(semconv.REST))
    details: dict[str, object] = {}
    for key in keys:
        name = key[len(prefix) :]
        text = read_text(attributes, key)
        details[name] = _number(attributes[key]) if name in _INTEGERS or text is None else text
    return details


def _orphans(event_id: str, attributes: Mapping[str, object]) -> list[Loss]:
    """Continuations whose beginning is gone."""
    rests = (key for key in attributes if key.startswith(semconv.PREFIX) and key.endswith(semconv.REST))
    gone = (key.removesuffix(semconv.REST) for key in rests)
    return [
        Loss("attribute_missing", f"{key} of {event_id}") for key in gone if not isinstance(attributes.get(key), str)
    ]


def _cut(event_id: str, attributes: Mapping[str, object], present: int, *, attribute_gone: bool) -> list[Loss]:
    """Less text than was written: since `seq` is the first that a limit takes, where it stands a text was cut."""
    written = read_int(attributes.get(semconv.TEXT_BYTES))
    if written is None:
        return [Loss("attribute_missing", f"{semconv.TEXT_BYTES} of {event_id}")]
    if written == present:
        return []
    what = f"{written - present} of {written} bytes of text of {event_id}"
    return [Loss("attribute_missing" if attribute_gone else "text_cut", what)]


def assemble(
    events: Mapping[str, FailureEvent], failure_id: str | None, written: Iterable[str] = (), omitted: bool = False
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
    for key in list(graph.closing_edges({key: event.cause_id for key, event in kept.items()})):
        losses.append(Loss("cycle", f"{key} names the cause {kept[key].cause_id}"))
        kept[key] = kept[key].model_copy(update={"cause_id": None})
    missing = dict.fromkeys(key for key in (failure_id, *written) if key is not None and key not in kept)
    losses.extend(Loss("event_missing", key) for key in missing)
    own = failure_id if failure_id in kept else None
    return FailureReport(events=kept, failure_id=own, omitted=omitted or bool(missing)), tuple(losses)


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
    left_out = False
    for decoded in map(decode_event, events):
        losses.extend(decoded.losses)
        if decoded.event_id is None or decoded.event is None:
            left_out = True
            continue
        rival = chosen.get(decoded.event_id)
        if rival is not None and not rival.remote and not decoded.remote:
            losses.append(Loss("duplicate", decoded.event_id))
        if rival is None or better(decoded, rival):
            chosen[decoded.event_id] = decoded
    report_ids = span_attributes.get(semconv.REPORT_IDS)
    hop = semconv.REPORT_SCHEMA_VERSION in span_attributes
    report, found = assemble(
        {key: decoded.event for key, decoded in chosen.items() if decoded.event is not None},
        read_text(span_attributes, semconv.REPORT_ID),
        report_ids_of(span_attributes),
        omitted=span_attributes.get(semconv.REPORT_OMITTED) is True or (hop and report_ids is None) or left_out,
    )
    return report, (*losses, *found)


def report_ids_of(span_attributes: Mapping[str, object]) -> tuple[str, ...]:
    """The ids that a hop wrote down, in its order."""
    ids = span_attributes.get(semconv.REPORT_IDS)
    return tuple(key for key in ids if isinstance(key, str)) if isinstance(ids, (list, tuple)) else ()


def better(one: Decoded, other: Decoded) -> bool:
    """Whether `one` is to be kept before `other`, both of one id."""
    if one.remote != other.remote:
        return other.remote
    return one.remote and one.text_bytes > other.text_bytes
