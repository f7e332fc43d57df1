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

_REPORT = semconv.REPORT_ID.removesuffix("id")
_MAX_UNREPORTED = 1_000_000
"""Entries of `unreported` in one trace; from there on only the innermost hops list theirs: a file may nest at will."""
_INNERMOST = 64


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


class Hops(NamedTuple):
    """The hops of a trace."""

    all: dict[str, HopRecord]
    """By span id."""
    nearest: dict[str, HopRecord | None]
    """The hop that each span belongs to, by span id; None where there is none above it."""


def hops_of(spans: Mapping[str, SpanRecord]) -> Hops:
    """All hops: reported, SERVER, CONSUMER, and where a process begins; never a failure span."""
    hops: dict[str, HopRecord] = {}
    for span in spans.values():
        parent = spans.get(span.parent_span_id or "")
        begins = parent is None or not parent.is_of_process(span)
        reported = semconv.REPORT_SCHEMA_VERSION in span.attributes
        if not span.is_failure_span and (reported or begins or span.kind in ("SERVER", "CONSUMER")):
            hops[span.span_id] = HopRecord(span, None)
    nearest = _nearest(spans, hops)
    for hop in hops.values():
        hop.parent = nearest.get(hop.span.parent_span_id or "")
    above = {
        span_id: hop.parent.span.span_id if hop.parent is not None else None
        for span_id, hop in hops.items()
    }
    for span_id in cause_graph.closing_edges(above):
        hops[span_id].parent = None
    return Hops(hops, nearest)


def _nearest(
    spans: Mapping[str, SpanRecord], hops: Mapping[str, HopRecord]
) -> dict[str, HopRecord | None]:
    """The hop that each span belongs to; None for one in a ring of parents without a hop. Linear in the spans."""
    nearest: dict[str, HopRecord | None] = {}
    for first in spans:
        path: dict[str, None] = {}
        here: str | None = first
        while (
            here is not None
            and here in spans
            and here not in nearest
            and here not in hops
            and here not in path
        ):
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


def report_of(span: SpanRecord, events: Mapping[str, FailureEvent]) -> FailureReport | None:
    """What the hop wrote down, of the failures that the source holds; a cause outside it is cleared."""
    if semconv.REPORT_SCHEMA_VERSION not in span.attributes:
        return None
    ids = read_report_ids(span.attributes)
    own_id = read_text(span.attributes, semconv.REPORT_ID)
    return build_report(
        {key: events[key] for key in ids if key in events},
        own_id,
        ids,
        is_report_omitted(span.attributes),
    )[0]


def place(failures: Mapping[str, FailureRecord], hops: Hops, losses: list[Loss]) -> None:
    """Give each failure to its nearest hop, and to each hop above that does not report it, with the reason."""
    left = _MAX_UNREPORTED
    for key, failure in sorted(failures.items(), key=by_time):
        own_hop = hops.nearest[failure.span.span_id]
        if own_hop is not None:
            own_hop.failures.append(key)
        cut = False
        for hop in itertools.islice(_hops_above(own_hop), None if left > 0 else _INNERMOST):
            cut = cut or is_report_omitted(hop.span.attributes)
            if hop.report is None or key not in hop.report.events:
                left -= 1
                hop.unreported[key] = (
                    "late" if failure.decoded.late else "cut" if cut else "no_reply"
                )
    if left <= 0:
        losses.append(
            Loss("partial_trace", f"more than {_MAX_UNREPORTED} unreported failures over all hops")
        )


def unreadable_report(span: SpanRecord) -> Iterator[Loss]:
    """The attributes of a hop's report that cannot be read, or that stand there without what marks a report."""
    attributes = span.attributes
    ids = attributes.get(semconv.REPORT_IDS)
    readable = isinstance(ids, (list, tuple)) and all(isinstance(key, str) for key in ids)
    if semconv.REPORT_IDS in attributes and not readable:
        yield Loss("attribute_missing", f"{semconv.REPORT_IDS} of {span.name} {span.span_id}")
    if semconv.REPORT_ID in attributes and read_text(attributes, semconv.REPORT_ID) is None:
        yield Loss("attribute_missing", f"{semconv.REPORT_ID} of {span.name} {span.span_id}")
    if semconv.REPORT_SCHEMA_VERSION not in attributes and any(
        key.startswith(_REPORT) for key in attributes
    ):
        yield Loss(
            "attribute_missing", f"{semconv.REPORT_SCHEMA_VERSION} of {span.name} {span.span_id}"
        )


def shown(hops: Hops) -> list[HopRecord]:
    """The hops with a report or with failures below (which it reports, or has as unreported), by start."""
    found = [
        hop for hop in hops.all.values() if hop.report is not None or hop.failures or hop.unreported
    ]
    return sorted(found, key=lambda hop: (hop.span.start_unix_nano, hop.span.span_id))
