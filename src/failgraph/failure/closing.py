"""Make a map of failures closed: every cause it names is in it, and no causes form a cycle."""

from __future__ import annotations

from collections.abc import Mapping

from failgraph.failure.cause_graph import closing_edges
from failgraph.failure.records import FailureEvent


def close_map(events: Mapping[str, FailureEvent]) -> dict[str, FailureEvent]:
    """Return `events` without the cause edges that a `FailureReport` refuses.

    An edge is cleared if its cause is not in the map, or if it closes a cycle.
    """
    closed = {key: _without_missing_cause(event, events) for key, event in events.items()}
    for key in list(closing_edges({key: event.cause_id for key, event in closed.items()})):
        closed[key] = _without_cause(closed[key])
    return closed


def _without_missing_cause(event: FailureEvent, events: Mapping[str, FailureEvent]) -> FailureEvent:
    if event.cause_id is None or event.cause_id in events:
        return event
    return _without_cause(event)


def _without_cause(event: FailureEvent) -> FailureEvent:
    return event.model_copy(update={"cause_id": None})
