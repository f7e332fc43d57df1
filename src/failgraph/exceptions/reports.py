"""Failure exceptions as a report, and a report as failure exceptions."""

from __future__ import annotations

from failgraph.exceptions.boundaries import boundary_or_default
from failgraph.exceptions.cause_chain import (
    event_id,
    failures_in_chain,
    named_boundary,
    outermost_failure,
)
from failgraph.exceptions.failure_exception import NgFailureEvent, record_of
from failgraph.failure.cause_graph import chain
from failgraph.failure.closing import close_map
from failgraph.failure.records import FailureBoundary, FailureEvent, FailureReport


def failure_report_for(
    error: BaseException, *, boundary: FailureBoundary | None = None
) -> FailureReport:
    """Return a report of the failures in the explicit chain of `error`.

    It holds one event for each failure, linked by `cause_id`; members of exception groups are in it
    too. `failure_id` is the outermost one.

    Args:
        error: The exception at the outer end of the chain.
        boundary: Stands in for failures that name none; else the setting `FAILGRAPH_BOUNDARY`. A
            failure without any boundary is left out, and its effect names the next cause.
    """
    boundary_for = boundary_or_default(boundary)
    events: dict[str, FailureEvent] = {}
    for failure in failures_in_chain(error, boundary_for):
        event = record_of(failure, boundary_for)
        if event is not None:
            events.setdefault(event.event_id, event)
    own = outermost_failure(error, boundary_for)
    failure_id = None if own is None else event_id(own)
    return FailureReport(events=close_map(events), failure_id=failure_id)


def rebuild_failure(report: FailureReport) -> NgFailureEvent | None:
    """Return the failure that `failure_id` names, with its causes as `__cause__`.

    None if the report has no own failure.
    """
    effect: NgFailureEvent | None = None
    outer: NgFailureEvent | None = None
    causes = {key: event.cause_id for key, event in report.events.items()}
    for key in chain(causes, report.failure_id):
        error = NgFailureEvent.from_record(report.events[key])
        if effect is not None:
            effect.__cause__ = error
        outer, effect = outer or error, error
    return outer


def find_boundary_failure(error: BaseException) -> BaseException | None:
    """Return the outermost failure of the explicit chain that names a boundary itself, or None."""
    return outermost_failure(error, named_boundary)
