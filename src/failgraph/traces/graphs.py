"""Spans to failure graphs: which failures a trace holds, where each was seen, and what each hop reported of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from failgraph import semconv
from failgraph.codec.attributes import read_text
from failgraph.codec.event_decoder import is_better_copy
from failgraph.codec.report_decoder import build_report, read_report_ids
from failgraph.failure import cause_graph
from failgraph.failure.records import FailureReport
from failgraph.losses import Loss, Losses
from failgraph.traces.failures import FailureRecord, by_time, failures_of, with_causes
from failgraph.traces.hops import HopRecord, hops_of, place, report_of, shown, unreadable_report
from failgraph.traces.spans import SpanRecord

_OMITTING = frozenset({"dropped_events", "event_missing", "partial_trace"})
"""Losses after which a failure may be missing from a report."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace that holds failures."""

    trace_id: str
    root: SpanRecord | None
    """The span without a parent; None where that is missing."""
    service: str
    rollout_ids: tuple[str, ...]
    """Of the rollouts that its spans are of, the root's first; as a rule one."""
    start_unix_nano: int
    """The first start; 0 where no span says one."""
    duration_nano: int | None
    """From the first start to the last end; None where no span has ended."""
    report: FailureReport
    failures: Mapping[str, FailureRecord]
    """By event id, earliest first; a cause in another trace too, with its chain."""
    hops: tuple[HopRecord, ...]
    """Those with a report or with failures below, by start, and those around them."""
    root_cause: str | None
    recovered: frozenset[str] | None
    """In the root hop's report but not on the chain of its own failure; None where it wrote no report."""
    losses: Losses

    def offset(self, time_unix_nano: int) -> int | None:
        """From the trace's start, in ns; None where either is unknown."""
        return (
            time_unix_nano - self.start_unix_nano
            if time_unix_nano and self.start_unix_nano
            else None
        )


def traces_of(
    spans: Mapping[str, dict[str, SpanRecord]], partial: Mapping[str, str] = MappingProxyType({})
) -> list[Trace]:
    """The failure graphs of spans, given by trace id and span id; by start. The spans are lightened meanwhile.

    `partial` says of a trace why only a part of it is here.
    """
    found: dict[str, dict[str, FailureRecord]] = {}
    losses: dict[str, list[Loss]] = {}
    for trace_id, by_id in spans.items():
        losses[trace_id] = [Loss("partial_trace", partial[trace_id])] if trace_id in partial else []
        losses[trace_id].extend(_span_losses(by_id))
        found[trace_id] = failures_of(by_id, losses[trace_id])
    # A failure of one trace may be the cause of one in another.
    everywhere: dict[str, FailureRecord] = {}
    for failures in found.values():
        for key, failure in failures.items():
            if key not in everywhere or is_better_copy(failure.decoded, everywhere[key].decoded):
                everywhere[key] = failure
    traces = [
        _trace(trace_id, by_id, found[trace_id], everywhere, losses[trace_id])
        for trace_id, by_id in spans.items()
    ]
    # Those of saved rows have no start, and stay in the order of the file.
    return sorted(
        traces,
        key=lambda trace: (trace.start_unix_nano, trace.trace_id if trace.start_unix_nano else ""),
    )


def _span_losses(spans: Mapping[str, SpanRecord]) -> Iterator[Loss]:
    for span in spans.values():
        if span.parent_span_id is not None and span.parent_span_id not in spans:
            yield Loss(
                "span_missing", f"{span.parent_span_id}, the parent of {span.name} {span.span_id}"
            )
        if span.dropped:
            yield Loss("dropped_events", f"{span.dropped} of {span.name} {span.span_id}")
        if span.is_row:
            continue  # it never had times
        if not span.start_unix_nano and not span.is_stand_in:
            yield Loss("attribute_missing", f"start of {span.name} {span.span_id}")
        if not span.end_unix_nano:
            by = ", which the journal alone knows" if span.is_stand_in else ""
            yield Loss("unended", f"{span.name} {span.span_id}{by}")
        elif span.end_unix_nano < span.start_unix_nano:
            yield Loss("unended", f"{span.name} {span.span_id} ends before it starts")


def _trace(
    trace_id: str,
    spans: Mapping[str, SpanRecord],
    own: Mapping[str, FailureRecord],
    everywhere: Mapping[str, FailureRecord],
    losses: list[Loss],
) -> Trace:
    hops = hops_of(spans)
    written = dict.fromkeys(
        key for hop in hops.all.values() for key in read_report_ids(hop.span.attributes)
    )
    # Of a peer's copy here and the original in another trace it is the original; else what this trace holds.
    named = {key: everywhere[key] for key in (*written, *own) if key in everywhere}
    named.update(
        (key, failure)
        for key, failure in own.items()
        if not is_better_copy(everywhere[key].decoded, failure.decoded)
    )
    failures = dict(sorted(with_causes(named, everywhere).items(), key=by_time))
    losses.extend(loss for failure in failures.values() for loss in failure.decoded.losses)
    root = _root(spans)
    failure_id = read_text(root.attributes, semconv.REPORT_ID) if root is not None else None
    events = {key: failure.event for key, failure in failures.items()}
    report, found = build_report(
        events, failure_id, written, omitted=any(loss.kind in _OMITTING for loss in losses)
    )
    losses.extend(found)
    for hop in hops.all.values():
        hop.report = report_of(hop.span, events)
        losses.extend(unreadable_report(hop.span))
    place(own, hops, losses)
    causes = {key: event.cause_id for key, event in report.events.items()}
    start = min(
        (span.start_unix_nano for span in spans.values() if span.start_unix_nano), default=0
    )
    end = max((span.end_unix_nano for span in spans.values() if not span.is_of_journal), default=0)
    return Trace(
        trace_id=trace_id,
        root=root,
        service=(root or min(spans.values(), key=_by_start)).service,
        rollout_ids=_rollouts(root, spans),
        start_unix_nano=start,
        duration_nano=end - start
        if 0 < start <= end and not all(span.is_row for span in spans.values())
        else None,
        report=report,
        failures=failures,
        hops=tuple(shown(hops)),
        root_cause=cause_graph.root_cause(causes, report.failure_id, failures),
        recovered=_recovered(root, failures, causes, _ended_rollouts(spans)),
        losses=tuple(losses),
    )


def _ended_rollouts(spans: Mapping[str, SpanRecord]) -> Iterator[str]:
    """The failures that attempts at rollouts came to, or gave up with: a job with many goes on, but recovers none."""
    for span in spans.values():
        if span.name == semconv.ROLLOUT_SPAN:
            if span.attributes.get(semconv.REPORT_UNFINISHED) is True:
                yield from read_report_ids(span.attributes)
            own = read_text(span.attributes, semconv.REPORT_ID)
            if own is not None:
                yield own


def _recovered(
    root: SpanRecord | None,
    failures: Mapping[str, FailureRecord],
    causes: Mapping[str, str | None],
    ended: Iterable[str],
) -> frozenset[str] | None:
    """What the root hop reports beside its own failure, those that `ended` rollouts, and their causes.

    None where that cannot be told.
    """
    if root is None or next(unreadable_report(root), None) is not None:
        return None
    if not isinstance(root.attributes.get(semconv.REPORT_IDS), (list, tuple)):
        return None
    if root.attributes.get(semconv.REPORT_UNFINISHED) is True:
        return None
    failure_id = read_text(root.attributes, semconv.REPORT_ID)
    chain = cause_graph.chain(causes, failure_id)
    if failure_id is not None and (not chain or failures[chain[-1]].event.cause_id is not None):
        return None  # the own failure, or the end of its chain, is lost
    fatal = {failure_id for end in ended for failure_id in cause_graph.chain(causes, end)}
    return frozenset(read_report_ids(root.attributes)) & failures.keys() - {*chain, *fatal}


def _rollouts(root: SpanRecord | None, spans: Mapping[str, SpanRecord]) -> tuple[str, ...]:
    found = (
        span.attributes.get(semconv.ROLLOUT_ID)
        for span in (*([root] if root else []), *spans.values())
    )
    return tuple(dict.fromkeys(rollout for rollout in found if isinstance(rollout, str)))


def _root(spans: Mapping[str, SpanRecord]) -> SpanRecord | None:
    roots = [
        span for span in spans.values() if span.parent_span_id is None and not span.is_failure_span
    ]
    return min(roots, key=_by_start, default=None)


def _by_start(span: SpanRecord) -> tuple[bool, int, str]:
    return not span.start_unix_nano, span.start_unix_nano, span.span_id
