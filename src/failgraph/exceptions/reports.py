"""Failure exceptions as a report, and a report as failure exceptions."""

from __future__ import annotations

from collections.abc import Mapping

from failgraph.exceptions.cause_chain import event_id, named_boundary, observed, outermost
from failgraph.exceptions.failure_exception import NgFailureEvent, event_of, named_or
from failgraph.failure.cause_graph import chain, closing_edges
from failgraph.failure.records import FailureBoundary, FailureEvent, FailureReport


def failure_report_for(
    error: BaseException, *, boundary: FailureBoundary | None = None
) -> FailureReport:
    """One event for each failure of the explicit chain of `error`, linked by `cause_id`; `failure_id` is the outermost.

    The members of an exception group are in it too. A failure that names no boundary takes `boundary`, else the setting
    `FAILGRAPH_BOUNDARY`; without one it is passed over, and its effect names the next cause.
    """
    boundary_for = named_or(boundary)
    events: dict[str, FailureEvent] = {}
    for node in observed(error, boundary_for):
        event = event_of(node, boundary_for)
        if event is not None:
            events.setdefault(event.event_id, event)
    own = outermost(error, boundary_for)
    return FailureReport(
        events=closed(events), failure_id=event_id(own) if own is not None else None
    )


def closed(events: Mapping[str, FailureEvent]) -> dict[str, FailureEvent]:
    """`events` with each cause cleared that is not among them, or whose edge closes a cycle."""
    kept = {
        key: event
        if event.cause_id is None or event.cause_id in events
        else event.model_copy(update={"cause_id": None})
        for key, event in events.items()
    }
    for key in list(closing_edges({key: event.cause_id for key, event in kept.items()})):
        kept[key] = kept[key].model_copy(update={"cause_id": None})
    return kept


def rebuild_failure(report: FailureReport) -> NgFailureEvent | None:
    """The failure that `failure_id` names, with its causes as `__cause__`; None where the report has no own failure."""
    effect: NgFailureEvent | None = None
    outer: NgFailureEvent | None = None
    for key in chain(
        {key: event.cause_id for key, event in report.events.items()}, report.failure_id
    ):
        error = NgFailureEvent.from_record(report.events[key])
        if effect is not None:
            effect.__cause__ = error
        outer, effect = outer or error, error
    return outer


def find_boundary_failure(error: BaseException) -> BaseException | None:
    """The outermost failure of the explicit chain of `error` that names a boundary itself, or None."""
    return outermost(error, named_boundary)
