"""Build the failure graph of each trace: its failures, its hops and what each hop reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from failgraph import semconv
from failgraph.codec.attributes import read_text
from failgraph.codec.report_decoder import build_report, read_report_ids
from failgraph.failure import cause_graph
from failgraph.failure.records import FailureReport
from failgraph.losses import Loss, Losses
from failgraph.traces.failures import (
    FailureRecord,
    TraceFailures,
    by_time,
    choose_failures,
    decode_events,
    is_better_record,
    with_causes,
)
from failgraph.traces.hops import (
    HopRecord,
    assign_failures,
    find_hops,
    read_reports,
    relevant_hops,
)
from failgraph.traces.recovery import recovered_failures
from failgraph.traces.spans import SpanRecord

# Losses after which a failure may be missing from a report.
_OMITTING = frozenset({"dropped_events", "event_missing", "partial_trace"})


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace that holds failures.

    Attributes:
        trace_id: 32 hex digits.
        root: The first span without a parent, or None if it is missing.
        service: The service of the root or, without one, of the first span.
        rollout_ids: Ids of the rollouts that its spans belong to, the root's first.
        start_unix_nano: The first start, in ns since the epoch, or 0 if unknown.
        duration_nano: From the first start to the last end in ns, or None if unknown.
        report: All failures of the trace. Its own failure is that of the root hop.
        failures: By event id, earliest first. Includes causes in other traces, with their chains.
        hops: The hops with a report or with failures at or below them, by start.
        root_cause: Id of the root cause, or None if unknown.
        recovered: Ids of failures in the root hop's report that are not on the chain of its own
            failure, or None if that is unknown.
        losses: What is damaged or missing in this trace.
    """

    trace_id: str
    root: SpanRecord | None
    service: str
    rollout_ids: tuple[str, ...]
    start_unix_nano: int
    duration_nano: int | None
    report: FailureReport
    failures: Mapping[str, FailureRecord]
    hops: tuple[HopRecord, ...]
    root_cause: str | None
    recovered: frozenset[str] | None
    losses: Losses

    def offset(self, time_unix_nano: int) -> int | None:
        """Return a time as ns since the start of the trace, or None if either is unknown."""
        if not time_unix_nano or not self.start_unix_nano:
            return None
        return time_unix_nano - self.start_unix_nano


def traces_of(
    spans: Mapping[str, dict[str, SpanRecord]], partial: Mapping[str, str] = MappingProxyType({})
) -> list[Trace]:
    """Build the failure graphs of traces, by start.

    Args:
        spans: The spans by trace id and span id. To save memory, each is replaced by a copy
            without the events that become failures.
        partial: By trace id, why the source holds only a part of the trace.
    """
    found: dict[str, TraceFailures] = {}
    for trace_id, by_id in spans.items():
        events = decode_events(by_id)
        for span_id, span in by_id.items():
            by_id[span_id] = span.without_decoded_events()
        found[trace_id] = choose_failures(by_id, events)
    # The cause of a failure may be in another trace.
    all_failures: dict[str, FailureRecord] = {}
    for trace_failures in found.values():
        for key, failure in trace_failures.failures.items():
            other = all_failures.get(key)
            if other is None or is_better_record(failure, other):
                all_failures[key] = failure
    traces = []
    for trace_id, by_id in spans.items():
        losses = [Loss("partial_trace", partial[trace_id])] if trace_id in partial else []
        losses += _span_losses(by_id)
        losses += found[trace_id].losses
        traces.append(_trace(trace_id, by_id, found[trace_id].failures, all_failures, losses))
    # Traces of saved rows have no start, and keep the order of the file.
    return sorted(
        traces,
        key=lambda trace: (trace.start_unix_nano, trace.trace_id if trace.start_unix_nano else ""),
    )


def _span_losses(spans: Mapping[str, SpanRecord]) -> Iterator[Loss]:
    for span in spans.values():
        if span.parent_span_id is not None and span.parent_span_id not in spans:
            yield Loss("span_missing", f"{span.parent_span_id}, the parent of {_title(span)}")
        if span.dropped:
            yield Loss("dropped_events", f"{span.dropped} of {_title(span)}")
        if span.is_row:
            continue  # it never had times
        if not span.start_unix_nano and not span.is_stand_in:
            yield Loss("attribute_missing", f"start of {_title(span)}")
        if not span.end_unix_nano:
            source = ", seen only in the journal" if span.is_stand_in else ""
            yield Loss("unended", f"{_title(span)}{source}")
        elif span.end_unix_nano < span.start_unix_nano:
            yield Loss("unended", f"{_title(span)} ends before it starts")


def _title(span: SpanRecord) -> str:
    return f"{span.name} {span.span_id}"


def _trace(
    trace_id: str,
    spans: Mapping[str, SpanRecord],
    own_failures: Mapping[str, FailureRecord],
    all_failures: Mapping[str, FailureRecord],
    losses: list[Loss],
) -> Trace:
    hops = find_hops(spans)
    written_ids = dict.fromkeys(
        key for hop in hops.by_span_id.values() for key in read_report_ids(hop.span.attributes)
    )
    failures = _failures(own_failures, all_failures, written_ids)
    for failure in failures.values():
        losses.extend(failure.decoded.losses)
    root = _root(spans)
    events = {key: failure.event for key, failure in failures.items()}
    report, missing = build_report(
        events,
        read_text(root.attributes, semconv.REPORT_ID) if root is not None else None,
        written_ids,
        omitted=any(loss.kind in _OMITTING for loss in losses),
    )
    losses.extend(missing)
    losses.extend(read_reports(hops, events))
    losses.extend(assign_failures(own_failures, hops))
    causes = {key: event.cause_id for key, event in report.events.items()}
    start = min(
        (span.start_unix_nano for span in spans.values() if span.start_unix_nano), default=0
    )
    return Trace(
        trace_id=trace_id,
        root=root,
        service=(root or min(spans.values(), key=_by_start)).service,
        rollout_ids=_rollout_ids(root, spans),
        start_unix_nano=start,
        duration_nano=_duration(start, spans),
        report=report,
        failures=failures,
        hops=tuple(relevant_hops(hops)),
        root_cause=cause_graph.root_cause(causes, report.failure_id, failures),
        recovered=recovered_failures(root, spans, failures, causes),
        losses=tuple(losses),
    )


def _failures(
    own_failures: Mapping[str, FailureRecord],
    all_failures: Mapping[str, FailureRecord],
    written_ids: Iterable[str],
) -> dict[str, FailureRecord]:
    """Return the failures of a trace by time, with those that its hops name and all their causes.

    If the trace holds only the copy of a peer or a saved row, the original in another is taken.
    """
    failures = {
        key: all_failures[key] for key in (*written_ids, *own_failures) if key in all_failures
    }
    failures |= {
        key: failure
        for key, failure in own_failures.items()
        if not is_better_record(all_failures[key], failure)
    }
    return dict(sorted(with_causes(failures, all_failures).items(), key=by_time))


def _duration(start: int, spans: Mapping[str, SpanRecord]) -> int | None:
    """Return the time from `start` to the last end, or None if it is unknown."""
    if all(span.is_row for span in spans.values()):
        return None
    ends = (span.end_unix_nano for span in spans.values() if not span.is_from_journal)
    end = max(ends, default=0)
    return end - start if 0 < start <= end else None


def _rollout_ids(root: SpanRecord | None, spans: Mapping[str, SpanRecord]) -> tuple[str, ...]:
    first = [] if root is None else [root]
    ids = (span.attributes.get(semconv.ROLLOUT_ID) for span in (*first, *spans.values()))
    return tuple(dict.fromkeys(rollout_id for rollout_id in ids if isinstance(rollout_id, str)))


def _root(spans: Mapping[str, SpanRecord]) -> SpanRecord | None:
    roots = [
        span for span in spans.values() if span.parent_span_id is None and not span.is_failure_span
    ]
    return min(roots, key=_by_start, default=None)


def _by_start(span: SpanRecord) -> tuple[bool, int, str]:
    """Sort key: by start, unknown ones last, then by id."""
    return not span.start_unix_nano, span.start_unix_nano, span.span_id
