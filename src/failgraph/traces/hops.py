"""The hops of a trace: what each reported, and which failures below it did not reach it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from failgraph import semconv
from failgraph.codec.attributes import read_text
from failgraph.codec.report_decoder import build_report, is_report_omitted, read_report_ids
from failgraph.failure import cause_graph
from failgraph.failure.records import FailureEvent, FailureReport
from failgraph.losses import Loss
from failgraph.traces.failures import FailureRecord, by_time
from failgraph.traces.spans import SpanRecord

Reason = Literal["late", "cut", "no_reply"]

_REPORT_PREFIX = semconv.REPORT_ID.removesuffix("id")
# Entries of `unreported` in one trace: a file may nest without a limit. Beyond that number only the
# innermost hops above a failure list it.
_MAX_UNREPORTED = 1_000_000
_INNERMOST = 64


@dataclass(slots=True, eq=False)
class HopRecord:
    """One hop, with what it reported and what it did not.

    Attributes:
        span: The span of the hop.
        report: What it wrote down, or None if it wrote no report.
        unreported: Failures below it that are not in its report, with the reason, by event id.
        failures: Ids of the failures of which it is the nearest hop, by time.
        parent: The next hop above it, or None.
    """

    span: SpanRecord
    report: FailureReport | None
    unreported: dict[str, Reason] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    parent: HopRecord | None = None


class TraceHops(NamedTuple):
    """The hops of one trace.

    Attributes:
        by_span_id: All hops.
        nearest: The hop that each span belongs to, by span id, or None if there is none above it.
    """

    by_span_id: dict[str, HopRecord]
    nearest: dict[str, HopRecord | None]


def find_hops(spans: Mapping[str, SpanRecord]) -> TraceHops:
    """Find the hops among the spans of a trace, given by span id.

    A hop is a span with a report, a SERVER or CONSUMER span, or a span whose parent is missing or
    from another process. A failure span never is one.
    """
    hops: dict[str, HopRecord] = {}
    for span in spans.values():
        parent = spans.get(span.parent_span_id or "")
        begins_process = parent is None or not parent.is_same_process(span)
        has_report = semconv.REPORT_SCHEMA_VERSION in span.attributes
        is_receiver = span.kind in ("SERVER", "CONSUMER")
        if not span.is_failure_span and (has_report or begins_process or is_receiver):
            hops[span.span_id] = HopRecord(span, None)
    nearest = _nearest_hops(spans, hops)
    for hop in hops.values():
        hop.parent = nearest.get(hop.span.parent_span_id or "")
    parent_ids = {
        span_id: hop.parent.span.span_id if hop.parent is not None else None
        for span_id, hop in hops.items()
    }
    # Damaged parent ids may form a cycle.
    for span_id in cause_graph.closing_edges(parent_ids):
        hops[span_id].parent = None
    return TraceHops(hops, nearest)


def _nearest_hops(
    spans: Mapping[str, SpanRecord], hops: Mapping[str, HopRecord]
) -> dict[str, HopRecord | None]:
    """Return the hop of each span, or None inside a cycle of parents. Takes linear time."""
    nearest: dict[str, HopRecord | None] = {}
    for first in spans:
        path: dict[str, None] = {}
        span_id: str | None = first
        while (
            span_id is not None
            and span_id in spans
            and span_id not in nearest
            and span_id not in hops
            and span_id not in path
        ):
            path[span_id] = None
            span_id = spans[span_id].parent_span_id
        hop = hops.get(span_id or "") or nearest.get(span_id or "")
        nearest.update(dict.fromkeys(path, hop))
        if first in hops:
            nearest[first] = hops[first]
    return nearest


def read_reports(hops: TraceHops, events: Mapping[str, FailureEvent]) -> list[Loss]:
    """Set the report of each hop. Return what cannot be read of them.

    Args:
        hops: The hops of a trace.
        events: The failures of the trace by event id. A cause outside them is cleared.
    """
    losses: list[Loss] = []
    for hop in hops.by_span_id.values():
        hop.report = _report(hop.span, events)
        losses.extend(report_losses(hop.span))
    return losses


def _report(span: SpanRecord, events: Mapping[str, FailureEvent]) -> FailureReport | None:
    if semconv.REPORT_SCHEMA_VERSION not in span.attributes:
        return None
    ids = read_report_ids(span.attributes)
    own_id = read_text(span.attributes, semconv.REPORT_ID)
    known = {key: events[key] for key in ids if key in events}
    report, _ = build_report(known, own_id, ids, is_report_omitted(span.attributes))
    return report


def report_losses(span: SpanRecord) -> Iterator[Loss]:
    """Yield the attributes of a hop's report that are unreadable, or lack its schema version."""
    attributes = span.attributes
    ids = attributes.get(semconv.REPORT_IDS)
    are_readable = isinstance(ids, (list, tuple)) and all(isinstance(key, str) for key in ids)
    has_version = semconv.REPORT_SCHEMA_VERSION in attributes
    damaged: list[str] = []
    if semconv.REPORT_IDS in attributes and not are_readable:
        damaged.append(semconv.REPORT_IDS)
    if semconv.REPORT_ID in attributes and read_text(attributes, semconv.REPORT_ID) is None:
        damaged.append(semconv.REPORT_ID)
    if not has_version and any(key.startswith(_REPORT_PREFIX) for key in attributes):
        damaged.append(semconv.REPORT_SCHEMA_VERSION)
    for key in damaged:
        yield Loss("attribute_missing", f"{key} of {span.name} {span.span_id}")


def assign_failures(failures: Mapping[str, FailureRecord], hops: TraceHops) -> list[Loss]:
    """Add each failure to its nearest hop, and to `unreported` of each hop above that lacks it.

    Returns:
        A loss if the trace has more unreported failures than can be listed.
    """
    left = _MAX_UNREPORTED
    for event_id, failure in sorted(failures.items(), key=by_time):
        nearest = hops.nearest[failure.span.span_id]
        if nearest is not None:
            nearest.failures.append(event_id)
        reason: Reason = "late" if failure.decoded.late else "no_reply"
        for hop in itertools.islice(_hops_above(nearest), None if left > 0 else _INNERMOST):
            if reason == "no_reply" and is_report_omitted(hop.span.attributes):
                reason = "cut"
            if hop.report is None or event_id not in hop.report.events:
                left -= 1
                hop.unreported[event_id] = reason
    if left > 0:
        return []
    detail = f"more than {_MAX_UNREPORTED} unreported failures in all hops"
    return [Loss("partial_trace", detail)]


def _hops_above(hop: HopRecord | None) -> Iterator[HopRecord]:
    """Yield `hop` and each hop above it."""
    while hop is not None:
        yield hop
        hop = hop.parent


def relevant_hops(hops: TraceHops) -> list[HopRecord]:
    """Return the hops with a report or with failures at or below them, by start."""
    relevant = [
        hop
        for hop in hops.by_span_id.values()
        if hop.report is not None or hop.failures or hop.unreported
    ]
    return sorted(relevant, key=lambda hop: (hop.span.start_unix_nano, hop.span.span_id))
