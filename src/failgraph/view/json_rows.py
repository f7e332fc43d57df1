"""A failure graph as JSON: null for what is unknown, no key ever absent."""

from __future__ import annotations

from typing import Any

from failgraph.failure.records import FailureReport
from failgraph.losses import Losses
from failgraph.readers import FailureRecord, HopRecord, Trace
from failgraph.redaction import redact, redact_event


def list_row(trace: Trace) -> dict[str, Any]:
    """What `list --json` prints of a trace."""
    return {**_head(trace), "losses": loss_rows(trace.losses)}


def show_row(trace: Trace) -> dict[str, Any]:
    """What `show --json` prints of a trace."""
    return {
        **_head(trace),
        "report": _report(trace.report),
        "hops": [_hop(trace, hop) for hop in trace.hops],
        "failures": {key: _failure(trace, key, failure) for key, failure in trace.failures.items()},
        "losses": loss_rows(trace.losses),
    }


def loss_rows(losses: Losses) -> list[dict[str, str]]:
    """Losses as the objects that every command prints."""
    return [loss._asdict() for loss in losses]


def cause_delay_nano(trace: Trace, key: str) -> int | None:
    """From the cause to its effect; None where the failure has no cause, or a time is unknown."""
    cause_id = trace.report.events[key].cause_id
    if cause_id is None:
        return None
    effect, cause = trace.failures[key].time_unix_nano, trace.failures[cause_id].time_unix_nano
    return effect - cause if effect and cause else None


def _head(trace: Trace) -> dict[str, Any]:
    root = trace.report.events[trace.root_cause] if trace.root_cause is not None else None
    return {
        "trace_id": trace.trace_id,
        "start_unix_nano": trace.start_unix_nano or None,
        "duration_nano": trace.duration_nano,
        "service": redact(trace.service) or None,
        "rollout_id": trace.rollout_ids[0] if trace.rollout_ids else None,
        "root_cause": None
        if root is None
        else {
            "event_id": root.event_id,
            "kind": root.failure_kind,
            "boundary": root.boundary.value,
        },
        "failure_id": trace.report.failure_id,
        "count": len(trace.report.events),
        "recovered": None if trace.recovered is None else len(trace.recovered),
    }


def _report(report: FailureReport) -> dict[str, Any]:
    """A report as on the wire, its texts redacted: who wrote it may not have done so."""
    shown = {key: redact_event(event) for key, event in report.events.items()}
    return report.model_copy(update={"events": shown}).model_dump(mode="json")


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


def _failure(trace: Trace, key: str, failure: FailureRecord) -> dict[str, Any]:
    return {
        "trace_id": failure.span.trace_id,
        "span_id": failure.span_id,
        "service": redact(failure.span.service) or None,
        "time_unix_nano": failure.time_unix_nano or None,
        "offset_nano": trace.offset(failure.time_unix_nano),
        "placement": failure.placement,
        "cause_delay_nano": cause_delay_nano(trace, key),
        **({"remote": True} if failure.decoded.remote else {}),
    }
