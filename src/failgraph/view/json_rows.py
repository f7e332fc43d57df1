"""The JSON objects that the commands print: null for what is unknown, no key ever absent."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from failgraph.failure.records import FailureReport
from failgraph.losses import Losses
from failgraph.readers import FailureRecord, HopRecord, Trace
from failgraph.redaction import redact, redact_event
from failgraph.view.top import TopRow


def list_row(trace: Trace) -> dict[str, Any]:
    """Return the object that `list --json` prints for a trace."""
    return {**_head(trace), "losses": _loss_rows(trace.losses)}


def show_row(trace: Trace) -> dict[str, Any]:
    """Return the object that `show --json` prints for a trace."""
    return {
        **_head(trace),
        "report": _report(trace.report),
        "hops": [_hop(trace, hop) for hop in trace.hops],
        "failures": {key: _failure(trace, key, failure) for key, failure in trace.failures.items()},
        "losses": _loss_rows(trace.losses),
    }


def top_row(row: TopRow) -> dict[str, Any]:
    """Return the object that `top --json` prints for a row."""
    return {**asdict(row), "kind": redact(row.kind), "service": redact(row.service) or None}


def source_row(name: str, trace_count: int, losses: Losses) -> dict[str, Any]:
    """Return the last object that a command prints with `--json`, which is about the source.

    Args:
        name: The source.
        trace_count: Number of its traces, with or without failures.
        losses: What was lost in reading it, besides the losses of single traces.
    """
    return {"source": redact(name), "traces": trace_count, "losses": _loss_rows(losses)}


def cause_delay_nano(trace: Trace, event_id: str) -> int | None:
    """Return the time from a failure's cause to the failure, in ns.

    None if it has no cause, or one of the two times is unknown.
    """
    cause_id = trace.report.events[event_id].cause_id
    if cause_id is None:
        return None
    effect, cause = trace.failures[event_id].time_unix_nano, trace.failures[cause_id].time_unix_nano
    return effect - cause if effect and cause else None


def _loss_rows(losses: Losses) -> list[dict[str, str]]:
    return [{"kind": loss.kind, "detail": redact(loss.detail)} for loss in losses]


def _head(trace: Trace) -> dict[str, Any]:
    return {
        "trace_id": trace.trace_id,
        "start_unix_nano": trace.start_unix_nano or None,
        "duration_nano": trace.duration_nano,
        "service": redact(trace.service) or None,
        "rollout_id": trace.rollout_ids[0] if trace.rollout_ids else None,
        "root_cause": _root_cause(trace),
        "failure_id": trace.report.failure_id,
        "count": len(trace.report.events),
        "recovered": None if trace.recovered is None else len(trace.recovered),
    }


def _root_cause(trace: Trace) -> dict[str, str] | None:
    if trace.root_cause is None:
        return None
    event = trace.report.events[trace.root_cause]
    return {
        "event_id": event.event_id,
        "kind": event.failure_kind,
        "boundary": event.boundary.value,
    }


def _report(report: FailureReport) -> dict[str, Any]:
    """Return a report as on the wire, with its texts redacted, since its writer may not have."""
    redacted = {key: redact_event(event) for key, event in report.events.items()}
    return report.model_copy(update={"events": redacted}).model_dump(mode="json")


def _hop(trace: Trace, hop: HopRecord) -> dict[str, Any]:
    return {
        "span_id": hop.span.span_id,
        "service": redact(hop.span.service) or None,
        "name": redact(hop.span.name),
        "offset_nano": trace.offset(hop.span.start_unix_nano),
        "duration_nano": hop.span.duration_nano,
        "report": None if hop.report is None else _report(hop.report),
        "unreported": hop.unreported,
    }


def _failure(trace: Trace, event_id: str, failure: FailureRecord) -> dict[str, Any]:
    row = {
        "trace_id": failure.span.trace_id,
        "span_id": failure.span_id,
        "service": redact(failure.span.service) or None,
        "time_unix_nano": failure.time_unix_nano or None,
        "offset_nano": trace.offset(failure.time_unix_nano),
        "placement": failure.placement,
        "cause_delay_nano": cause_delay_nano(trace, event_id),
    }
    return {**row, "remote": True} if failure.decoded.remote else row
