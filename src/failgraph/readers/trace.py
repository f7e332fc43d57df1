"""Spans to failure graphs: which failures a trace holds, where each was seen, and what each hop reported of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from failgraph import graph, semconv
from failgraph.codec import Decoded, assemble, decode_event
from failgraph.codec.attributes import read_text
from failgraph.codec.decode import better, report_ids_of
from failgraph.losses import Loss, Losses
from failgraph.readers.span import SpanRecord
from failgraph.records import FailureEvent, FailureReport

Reason = Literal["late", "cut", "no_reply"]

_OMITTING = frozenset({"dropped_events", "event_missing"})
"""Losses after which a failure may be missing from a report."""


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """One failure, and where it was observed."""

    event: FailureEvent
    span: SpanRecord
    """The span that holds it; a failure span where there was one."""
    stands_on: SpanRecord
    """The span that it was observed on: of a failure span its parent, where the source holds that."""
    time_unix_nano: int
    decoded: Decoded

    @property
    def placement(self) -> str:
        """`span` or `failure_span`."""
        return "failure_span" if self.span.is_failure_span else "span"


@dataclass(slots=True, eq=False)
class HopRecord:
    """One hop, with what it reported and what it did not."""

    span: SpanRecord
    report: FailureReport | None
    """What it wrote down; None where it wrote no report."""
    unreported: dict[str, Reason] = field(default_factory=dict)
    """Failures below it that its report does not hold."""
    failures: list[str] = field(default_factory=list)
    """Failures of which it is the nearest hop, by time."""
    parent: HopRecord | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace that holds failures."""

    trace_id: str
    root: SpanRecord | None
    """The span without a parent; None where that is missing."""
    service: str
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
        return time_unix_nano - self.start_unix_nano if time_unix_nano and self.start_unix_nano else None


def traces_of(spans: Mapping[str, Mapping[str, SpanRecord]]) -> list[Trace]:
    """The failure graphs of spans, given by trace id and span id; by start."""
    found: dict[str, dict[str, FailureRecord]] = {}
    losses: dict[str, list[Loss]] = {}
    for trace_id, by_id in spans.items():
        losses[trace_id] = list(_span_losses(by_id))
        found[trace_id] = _failures(by_id, losses[trace_id])
    # A failure of one trace may be the cause of one in another; its own trace's copy is the one to take.
    everywhere: dict[str, FailureRecord] = {}
    for failures in found.values():
        for key, failure in failures.items():
            if key not in everywhere or better(failure.decoded, everywhere[key].decoded):
                everywhere[key] = failure
    traces = [
        _trace(trace_id, by_id, found[trace_id], everywhere, losses[trace_id]) for trace_id, by_id in spans.items()
    ]
    return sorted(traces, key=lambda trace: (trace.start_unix_nano, trace.trace_id))


def _span_losses(spans: Mapping[str, SpanRecord]) -> Iterator[Loss]:
    for span in spans.values():
        if span.parent_span_id is not None and span.parent_span_id not in spans:
            yield Loss("span_missing", f"{span.parent_span_id}, the parent of {span.name} {span.span_id}")
        if not span.start_unix_nano:
            yield Loss("attribute_missing", f"start of {span.name} {span.span_id}")
        if not span.end_unix_nano:
            yield Loss("unended", f"{span.name} {span.span_id}")
        elif span.end_unix_nano < span.start_unix_nano:
            yield Loss("unended", f"{span.name} {span.span_id} ends before it starts")
        if span.dropped:
            yield Loss("dropped_events", f"{span.dropped} of {span.name} {span.span_id}")


def _failures(spans: Mapping[str, SpanRecord], losses: list[Loss]) -> dict[str, FailureRecord]:
    """Each failure of a trace once: the observer's copy before a peer's, among peers' the one with more text."""
    chosen: dict[str, FailureRecord] = {}
    for span in spans.values():
        parent = spans.get(span.parent_span_id or "") if span.is_failure_span else None
        for event in span.events:
            decoded = decode_event(event.attributes)
            if decoded.event is None or decoded.event_id is None:
                losses.extend((*decoded.losses, Loss("event_missing", f"{decoded.event_id or 'one'} cannot be read")))
                continue
            rival = chosen.get(decoded.event_id)
            if rival is not None and not rival.decoded.remote and not decoded.remote:
                losses.append(Loss("duplicate", f"{decoded.event_id} on {span.name} {span.span_id}"))
            if rival is None or better(decoded, rival.decoded):
                time_unix_nano = event.time_unix_nano or span.start_unix_nano
                chosen[decoded.event_id] = FailureRecord(decoded.event, span, parent or span, time_unix_nano, decoded)
                if not event.time_unix_nano:
                    losses.append(Loss("attribute_missing", f"time of {decoded.event_id}"))
    return chosen


def _trace(
    trace_id: str,
    spans: Mapping[str, SpanRecord],
    own: Mapping[str, FailureRecord],
    everywhere: Mapping[str, FailureRecord],
    losses: list[Loss],
) -> Trace:
    hops = _hops(spans)
    written = dict.fromkeys(key for hop in hops.values() for key in report_ids_of(hop.span.attributes))
    # Everywhere, so that of a peer's copy here and the original in another trace it is the original.
    named = {key: everywhere[key] for key in (*written, *own) if key in everywhere}
    failures = dict(sorted(_with_causes(named, everywhere).items(), key=_order))
    losses.extend(loss for failure in failures.values() for loss in failure.decoded.losses)
    root = _root(spans)
    failure_id = read_text(root.attributes, semconv.REPORT_ID) if root is not None else None
    events = {key: failure.event for key, failure in failures.items()}
    report, found = assemble(events, failure_id, written, omitted=any(loss.kind in _OMITTING for loss in losses))
    losses.extend(found)
    for hop in hops.values():
        hop.report = _report_of(hop.span, events)
    _place(own, spans, hops)
    root_ids = report_ids_of(root.attributes) if root is not None else ()
    causes = {key: event.cause_id for key, event in report.events.items()}
    # Without the own failure, or the list, what was recovered cannot be told.
    wrote = root is not None and semconv.REPORT_IDS in root.attributes and report.failure_id == failure_id
    start = min((span.start_unix_nano for span in spans.values() if span.start_unix_nano), default=0)
    end = max(span.end_unix_nano for span in spans.values())
    return Trace(
        trace_id=trace_id,
        root=root,
        service=(root or min(spans.values(), key=lambda span: span.start_unix_nano)).service,
        start_unix_nano=start,
        duration_nano=end - start if 0 < start <= end else None,
        report=report,
        failures=failures,
        hops=tuple(_shown(hops)),
        root_cause=graph.root_cause(causes, report.failure_id, failures),
        recovered=frozenset(root_ids) & failures.keys() - set(graph.chain(causes, report.failure_id))
        if wrote
        else None,
        losses=tuple(losses),
    )


def _order(item: tuple[str, FailureRecord]) -> tuple[int, int, str]:
    key, failure = item
    return failure.time_unix_nano, failure.decoded.seq, key


def _with_causes(
    failures: Mapping[str, FailureRecord], everywhere: Mapping[str, FailureRecord]
) -> dict[str, FailureRecord]:
    """`failures` with the chains of causes that other traces hold."""
    found = dict(failures)
    for failure in failures.values():
        cause_id = failure.event.cause_id
        while cause_id is not None and cause_id not in found and cause_id in everywhere:
            found[cause_id] = everywhere[cause_id]
            cause_id = everywhere[cause_id].event.cause_id
    return found


def _root(spans: Mapping[str, SpanRecord]) -> SpanRecord | None:
    roots = [span for span in spans.values() if span.parent_span_id is None and not span.is_failure_span]
    return min(roots, key=lambda span: (span.start_unix_nano, span.span_id), default=None)


def _hops(spans: Mapping[str, SpanRecord]) -> dict[str, HopRecord]:
    """All hops, by span id: reported, SERVER, CONSUMER, and where a process begins; never a failure span."""
    hops: dict[str, HopRecord] = {}
    for span in spans.values():
        parent = spans.get(span.parent_span_id or "")
        begins = parent is None or parent.process != span.process
        reported = semconv.REPORT_SCHEMA_VERSION in span.attributes
        if not span.is_failure_span and (reported or begins or span.kind in ("SERVER", "CONSUMER")):
            hops[span.span_id] = HopRecord(span, None)
    nearest = _nearest(spans, hops)
    for hop in hops.values():
        hop.parent = nearest.get(hop.span.parent_span_id or "")
    above = {span_id: hop.parent.span.span_id if hop.parent is not None else None for span_id, hop in hops.items()}
    for span_id in graph.closing_edges(above):
        hops[span_id].parent = None
    return hops


def _nearest(spans: Mapping[str, SpanRecord], hops: Mapping[str, HopRecord]) -> dict[str, HopRecord | None]:
    """The hop that each span belongs to; None for one in a ring of parents without a hop. Linear in the spans."""
    nearest: dict[str, HopRecord | None] = {}
    for first in spans:
        path: dict[str, None] = {}
        here: str | None = first
        while here is not None and here in spans and here not in nearest and here not in hops and here not in path:
            path[here] = None
            here = spans[here].parent_span_id
        found = hops.get(here or "") or nearest.get(here or "")
        nearest.update(dict.fromkeys(path, found))
        if first in hops:
            nearest[first] = hops[first]
    return nearest


def _hops_above(hop: HopRecord | None) -> Iterator[HopRecord]:
    """`hop` and the hops above it."""
    while hop is not None:
        yield hop
        hop = hop.parent


def _report_of(span: SpanRecord, events: Mapping[str, FailureEvent]) -> FailureReport | None:
    """What the hop wrote down, of the failures that the source holds; a cause outside it is cleared."""
    if semconv.REPORT_SCHEMA_VERSION not in span.attributes:
        return None
    ids = report_ids_of(span.attributes)
    own_id = read_text(span.attributes, semconv.REPORT_ID)
    return assemble({key: events[key] for key in ids if key in events}, own_id, ids, _says_omitted(span))[0]


def _says_omitted(span: SpanRecord) -> bool:
    """Whether the hop wrote a report that was not whole: it says so, or its list of ids found no place."""
    attributes = span.attributes
    listed = semconv.REPORT_IDS in attributes or semconv.REPORT_SCHEMA_VERSION not in attributes
    return attributes.get(semconv.REPORT_OMITTED) is True or not listed


def _place(
    failures: Mapping[str, FailureRecord], spans: Mapping[str, SpanRecord], hops: Mapping[str, HopRecord]
) -> None:
    """Give each failure to its nearest hop, and to each hop above that does not report it, with the reason."""
    nearest = _nearest(spans, hops)
    for key, failure in sorted(failures.items(), key=_order):
        own_hop = nearest[failure.span.span_id]
        if own_hop is not None:
            own_hop.failures.append(key)
        cut = False
        for hop in _hops_above(own_hop):
            cut = cut or _says_omitted(hop.span)
            if hop.report is None or key not in hop.report.events:
                hop.unreported[key] = "late" if failure.decoded.late else "cut" if cut else "no_reply"


def _shown(hops: Mapping[str, HopRecord]) -> list[HopRecord]:
    """The hops with a report or with failures below (which it reports, or has as unreported), by start."""
    found = [hop for hop in hops.values() if hop.report is not None or hop.failures or hop.unreported]
    return sorted(found, key=lambda hop: (hop.span.start_unix_nano, hop.span.span_id))
