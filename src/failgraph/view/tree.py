"""A failure graph as a tree of lines: hops with their latencies, and failures below them.

Each failure is shown once, under its hop, and is referred to by its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from failgraph.readers import HopRecord, Trace
from failgraph.redaction.display import display
from failgraph.view.failure_lines import failure_line, failure_notes
from failgraph.view.lines import (
    Line,
    Segment,
    failure_counts,
    failure_name,
    format_duration,
    rollout,
)
from failgraph.view.loss_lines import loss_lines

_MAX_LOSSES = 10


@dataclass(slots=True)
class TreeNode:
    """A hop or a failure.

    Attributes:
        offset: The time since the start of the trace.
        duration: How long a hop took; empty for a failure.
        line: The name of the hop or the failure.
        notes: Lines printed below it: the reason, the details, the cause.
        children: Hops and failures below it, by time.
    """

    offset: str
    duration: str
    line: Line
    notes: list[Line] = field(default_factory=list)
    children: list[TreeNode] = field(default_factory=list)


class FailureTree(NamedTuple):
    """A whole trace.

    Attributes:
        header: What the trace is, and its root cause.
        nodes: Hops without a hop above them, then failures without one.
        footer: Causes in other traces, and losses.
    """

    header: list[Line]
    nodes: list[TreeNode]
    footer: list[Line]


def failure_tree(trace: Trace, *, full: bool = False) -> FailureTree:
    """Return the failure graph of a trace as a tree.

    Args:
        trace: The trace.
        full: True for whole texts and all losses.
    """
    numbers = {event_id: number for number, event_id in enumerate(trace.failures, 1)}
    limit = None if full else _MAX_LOSSES
    return FailureTree(
        _header(trace, numbers),
        [*_hop_nodes(trace, numbers, full=full), *_orphans(trace, numbers, full=full)],
        [*_causes_elsewhere(trace, numbers), *loss_lines(trace.losses, limit)],
    )


def _header(trace: Trace, numbers: Mapping[str, int]) -> list[Line]:
    title = [
        display(trace.service, 40),
        format_duration(trace.duration_nano),
        failure_counts(trace),
    ]
    if trace.rollout_ids:
        title.insert(0, rollout(trace))
    title_line = [
        Segment("trace "),
        Segment(trace.trace_id, "name"),
        Segment(" · " + " · ".join(title)),
    ]
    if trace.root_cause is None:
        return [title_line]
    number = numbers[trace.root_cause]
    root_cause = [Segment(f"root cause: #{number} "), *failure_name(trace, trace.root_cause)]
    return [title_line, root_cause]


def _orphans(trace: Trace, numbers: Mapping[str, int], *, full: bool) -> list[TreeNode]:
    """Return the failures that have no hop above them: their parents are lost, or form a ring."""
    placed = {event_id for hop in trace.hops for event_id in hop.failures}
    return [
        _failure_node(trace, None, event_id, numbers, full=full)
        for event_id, failure in trace.failures.items()
        if failure.span.trace_id == trace.trace_id and event_id not in placed
    ]


def _hop_nodes(trace: Trace, numbers: Mapping[str, int], *, full: bool) -> list[TreeNode]:
    """Return the topmost hops, each with the nodes below it by time.

    Iterative, since a file decides how deep hops nest.
    """
    nodes = {id(hop): _hop_node(trace, hop) for hop in trace.hops}
    children: dict[int, list[tuple[int, TreeNode]]] = {id(hop): [] for hop in trace.hops}
    top: list[TreeNode] = []
    for hop in trace.hops:
        for event_id in hop.failures:
            time = trace.failures[event_id].time_unix_nano or hop.span.start_unix_nano
            node = _failure_node(trace, hop, event_id, numbers, full=full)
            children[id(hop)].append((time, node))
        if id(hop.parent) in children:
            children[id(hop.parent)].append((hop.span.start_unix_nano, nodes[id(hop)]))
        else:
            top.append(nodes[id(hop)])
    for hop in trace.hops:
        by_time = sorted(children[id(hop)], key=lambda child: child[0])
        nodes[id(hop)].children = [node for _, node in by_time]
    return top


def _hop_node(trace: Trace, hop: HopRecord) -> TreeNode:
    span = hop.span
    return TreeNode(
        format_duration(trace.offset(span.start_unix_nano)),
        format_duration(span.duration_nano),
        [
            Segment(display(span.name, 80), "name"),
            Segment(f" [{display(span.service, 40)}]", "quiet"),
        ],
    )


def _failure_node(
    trace: Trace, hop: HopRecord | None, event_id: str, numbers: Mapping[str, int], *, full: bool
) -> TreeNode:
    return TreeNode(
        format_duration(trace.offset(trace.failures[event_id].time_unix_nano)),
        "",
        failure_line(trace, hop, event_id, numbers[event_id]),
        failure_notes(trace, hop, event_id, numbers, full=full),
    )


def _causes_elsewhere(trace: Trace, numbers: Mapping[str, int]) -> Iterator[Line]:
    """Yield a line for each cause that is in another trace."""
    for event_id, failure in trace.failures.items():
        if failure.span.trace_id != trace.trace_id:
            span = failure.stands_on
            where = f"{display(span.name, 80)} [{display(span.service, 40)}]"
            yield [
                Segment(
                    f"in trace {failure.span.trace_id}, on {where}: #{numbers[event_id]} ",
                ),
                *failure_name(trace, event_id),
            ]
