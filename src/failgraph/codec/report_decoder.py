"""Decode a report from the events of a trace and the attributes of a hop's span."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from failgraph import semconv
from failgraph.codec.attributes import read_text
from failgraph.codec.event_decoder import DecodedEvent, decode_event, is_better_copy
from failgraph.failure import cause_graph
from failgraph.failure.records import FailureEvent, FailureReport
from failgraph.losses import Loss, Losses
from failgraph.text import MAX_ID_LENGTH, escape_surrogates


def decode(
    events: Iterable[Mapping[str, object]], span_attributes: Mapping[str, object] | None = None
) -> tuple[FailureReport, Losses]:
    """Read the report of a hop. Never raises on what the attributes hold.

    Of two copies of an id the observer's own wins; of two copies from peers the one with more text.

    Args:
        events: The attributes of each failure event.
        span_attributes: The attributes of the hop's span.

    Returns:
        A valid report, and what is damaged or missing in it.
    """
    span_attributes = span_attributes or {}
    losses: list[Loss] = []
    copies: dict[str, DecodedEvent] = {}
    unreadable: list[str | None] = []
    for decoded in map(decode_event, events):
        losses.extend(decoded.losses)
        if decoded.event_id is None or decoded.event is None:
            unreadable.append(decoded.event_id)
            continue
        other = copies.get(decoded.event_id)
        if other is not None and not other.remote and not decoded.remote:
            losses.append(Loss("duplicate", decoded.event_id))
        if other is None or is_better_copy(decoded, other):
            copies[decoded.event_id] = decoded
    report, report_losses = build_report(
        {key: copy.event for key, copy in copies.items() if copy.event is not None},
        read_text(span_attributes, semconv.REPORT_ID),
        read_report_ids(span_attributes),
        omitted=is_report_omitted(span_attributes) or any(key not in copies for key in unreadable),
    )
    return report, (*losses, *report_losses)


def build_report(
    events: Mapping[str, FailureEvent],
    failure_id: str | None,
    written_ids: Iterable[str] = (),
    omitted: bool = False,
) -> tuple[FailureReport, Losses]:
    """Build a valid report: clear each cause that is missing or closes a cycle, look up ids.

    Args:
        events: By event id.
        failure_id: The own failure, or None.
        written_ids: The ids that the hop wrote down; each should be in `events`.
        omitted: True if failures are already known to be missing.

    Returns:
        The report, `omitted` also if a written id is not in `events`, and what is missing in it.
    """
    losses: list[Loss] = []
    linked = dict(events)
    for key, event in events.items():
        if event.cause_id is not None and event.cause_id not in events:
            losses.append(Loss("cause_missing", f"{event.cause_id}, the cause of {key}"))
            linked[key] = event.model_copy(update={"cause_id": None})
    causes = {key: event.cause_id for key, event in linked.items()}
    for key in list(cause_graph.closing_edges(causes)):
        losses.append(Loss("cycle", f"{key} names the cause {causes[key]}"))
        linked[key] = linked[key].model_copy(update={"cause_id": None})
    named_ids = [key for key in (failure_id, *written_ids) if key is not None]
    missing_ids = dict.fromkeys(key for key in named_ids if key not in linked)
    losses.extend(Loss("event_missing", key) for key in missing_ids)
    own_id = failure_id if failure_id in linked else None
    if own_id is not None and len(own_id) > MAX_ID_LENGTH:
        detail = f"{semconv.REPORT_ID}: {own_id} is longer than a report can name"
        losses.append(Loss("attribute_missing", detail))
        own_id, omitted = None, True
    report = FailureReport(events=linked, failure_id=own_id, omitted=omitted or bool(missing_ids))
    return report, tuple(losses)


def is_report_omitted(span_attributes: Mapping[str, object]) -> bool:
    """Return True if a hop wrote an incomplete report: it says so, or its list of ids is absent."""
    if span_attributes.get(semconv.REPORT_OMITTED) is True:
        return True
    has_report = semconv.REPORT_SCHEMA_VERSION in span_attributes
    return has_report and semconv.REPORT_IDS not in span_attributes


def read_report_ids(span_attributes: Mapping[str, object]) -> tuple[str, ...]:
    """Return the ids that a hop wrote down, in its order."""
    ids = span_attributes.get(semconv.REPORT_IDS)
    if not isinstance(ids, (list, tuple)):
        return ()
    return tuple(escape_surrogates(key) for key in ids if isinstance(key, str))
