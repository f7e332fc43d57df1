"""Redaction of the texts in failure records. Kinds, boundaries and ids are never altered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from failgraph.diagnostics import count
from failgraph.failure.records import FailureEvent, FailureReport
from failgraph.failure.salvage import salvage
from failgraph.redaction.texts import redact
from failgraph.redaction.truncation import redact_and_truncate, truncate_redacted
from failgraph.settings import current

_EVENT_LIMITS = {"failure_reason": 2000, "operation": 256, "exception_type": 256}
_FOREIGN_LIMITS = {"message": 2000, "exception_type": 256}
_DETAILS_LIMITS = {"provider_status_reason": 2000}
"""The texts of a record and their limits in characters, as in the record classes."""

_WITHOUT_REASON = {"failure_reason": "", "message": "", "provider_status_reason": None}
"""The texts that `FAILGRAPH_REDACT=all` removes, and the values that replace them."""


def redact_fields(event_id: str, fields: Mapping[str, Any]) -> FailureEvent | None:
    """Make the event of unchecked fields, redacted. Each field that had to go is counted.

    Returns:
        The event, or None if the fields have no boundary.
    """
    event, losses = salvage(event_id, fields, redact_and_truncate)
    for loss in losses:
        count(f"record_{loss.kind}")
    return None if event is None else redact_event(event)


def redact_event(event: FailureEvent) -> FailureEvent:
    """Redact the texts of an event, or remove the reasons if `FAILGRAPH_REDACT=all`.

    Returns:
        A changed copy, or the same object if nothing changes.
    """
    changes = _text_changes(event, _EVENT_LIMITS)
    if event.foreign_error is not None:
        foreign = _text_changes(event.foreign_error, _FOREIGN_LIMITS)
        if foreign:
            changes["foreign_error"] = event.foreign_error.model_copy(update=foreign)
    if event.details is not None:
        details = _text_changes(event.details, _DETAILS_LIMITS)
        if details:
            changes["details"] = event.details.model_copy(update=details)
    return event.model_copy(update=changes) if changes else event


def redact_report(report: FailureReport) -> FailureReport:
    """Return a copy of a report with all its events redacted."""
    events = {key: redact_event(event) for key, event in report.events.items()}
    return report.model_copy(update={"events": events})


def _text_changes(record: BaseModel, limits: Mapping[str, int]) -> dict[str, object]:
    """Return the fields of `limits` whose text changes, with their new values."""
    without_reason = current().redact == "all"
    changes: dict[str, object] = {}
    for name, limit in limits.items():
        text = getattr(record, name, None)
        if not text:
            continue
        if without_reason and name in _WITHOUT_REASON:
            redacted = _WITHOUT_REASON[name]
        else:
            redacted = truncate_redacted(redact(text), limit)
        if redacted != text:
            changes[name] = redacted
    return changes
