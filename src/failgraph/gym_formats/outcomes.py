"""How the attempt of a saved row ended, whichever release of Gym wrote the row.

The documented report (`_ng_failure_events`, `_ng_failure_id`) wins over the older forms of
`older_forms`, whose failures have no ids and get one from the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from failgraph.failure.boundary import parse_boundary
from failgraph.gym_formats.older_forms import (
    RecordFields,
    episode_failure,
    older_records,
    text_value,
)


class RowFailure(NamedTuple):
    """One failure that a row names."""

    event_id: str
    fields: RecordFields


class RowOutcome(NamedTuple):
    """How an attempt ended.

    Attributes:
        failures: All failures that the row names.
        failure_id: The failure that the attempt ended with, or None if it scored in spite of them.
        failure_class: The raw `_ng_failure_class`, or None if the row has none.
        omitted: True if the row says that its report is incomplete.
    """

    failures: tuple[RowFailure, ...]
    failure_id: str | None
    failure_class: str | None = None
    omitted: bool = False


def row_outcome(row: Mapping[str, Any], prefix: str) -> RowOutcome:
    """Return how the attempt of a row ended.

    Args:
        row: A row of results or failures, or an episode response.
        prefix: Begins the ids of failures that have none.
    """
    report = row.get("failure_report")
    nested = report if isinstance(report, dict) else {}
    outcome = _outcome(row, prefix, _reported(row, nested), _reported_id(row, nested))
    return outcome._replace(omitted=outcome.omitted or nested.get("omitted") is True)


def _outcome(
    row: Mapping[str, Any],
    prefix: str,
    reported: tuple[RowFailure, ...],
    failure_id: str | None,
) -> RowOutcome:
    """Combine the documented report of a row with what it says in older forms."""
    failure_class = text_value(row, "_ng_failure_class")
    if failure_id is not None and _has_boundary(reported, failure_id):
        return RowOutcome(reported, failure_id, failure_class)
    older = tuple(_linked(older_records(row, failure_class), f"{prefix}-"))
    if older and (failure_class or _has_no_score(row)):
        # If a report lacks the failure that it names, the older form replaces that one.
        is_incomplete = failure_id is not None
        failures = (*older, *reported)
        return RowOutcome(failures, older[0].event_id, failure_class, omitted=is_incomplete)
    if failure_id is not None:
        return RowOutcome(reported, failure_id, failure_class)
    # The row of an attempt that scored repeats in the older form what its report holds.
    return RowOutcome(reported or older, None, failure_class)


def _has_boundary(reported: tuple[RowFailure, ...], event_id: str) -> bool:
    """True if the failure with this id is in the report and can be a record."""
    fields = dict(reported).get(event_id, {})
    return parse_boundary(fields.get("boundary")) is not None


def _has_no_score(row: Mapping[str, Any]) -> bool:
    """True if a row without a failure class says that there is no valid score."""
    return row.get("mask_sample") is True or episode_failure(row) is not None


def _reported(row: Mapping[str, Any], nested: Mapping[str, Any]) -> tuple[RowFailure, ...]:
    """Return the documented report of a row, or else `nested`, that of an episode response."""
    events = row.get("_ng_failure_events", nested.get("events"))
    if not isinstance(events, dict):
        return ()
    return tuple(
        RowFailure(event_id, event if isinstance(event, dict) else {})
        for event_id, event in events.items()
    )


def _reported_id(row: Mapping[str, Any], nested: Mapping[str, Any]) -> str | None:
    """Return the id of the failure that the documented report of a row ends with."""
    failure_id = row.get("_ng_failure_id", nested.get("failure_id"))
    return failure_id if isinstance(failure_id, str) else None


def _linked(records: list[RecordFields], prefix: str) -> Iterator[RowFailure]:
    """Yield the records with ids, each caused by the next."""
    for number, record in enumerate(records):
        cause = f"{prefix}{number + 1}" if number + 1 < len(records) else None
        yield RowFailure(f"{prefix}{number}", {**record, "cause_id": cause})
