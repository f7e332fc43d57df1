"""A failure graph as a picture that any output can draw: lines of parts, each with the role that it plays.

The hops stand as a tree next to their latencies; each failure is shown once, under its hop, and referred to by number.
All text is sanitize here, so that no output has to think of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import NamedTuple

from failgraph.failure.records import FailureEvent
from failgraph.losses import Losses
from failgraph.readers import HopRecord, Trace
from failgraph.redaction import redact_event
from failgraph.redaction.display import display, sanitize
from failgraph.semconv import REPORT_UNFINISHED
from failgraph.view.json_rows import cause_delay_nano

_MAX_LOSSES = 10


class Part(NamedTuple):
    """A piece of text and its role: `plain`, `quiet`, `name`, `mark`, `own`, `recovered`, `lost`, or a boundary."""

    text: str
    role: str = "plain"


Line = list[Part]


@dataclass(slots=True)
class Node:
    """A hop or a failure; a hop has a duration."""

    offset: str
    duration: str
    line: Line
    notes: list[Line] = field(default_factory=list)
    """What is said below it: the reason, the cause."""
    below: list[Node] = field(default_factory=list)


class Picture(NamedTuple):
    """A whole trace."""

    head: list[Line]
    nodes: list[Node]
    tail: list[Line]


def duration(nano: int | None) -> str:
    """A length of time in the unit that reads best; `?` where it is unknown."""
    if nano is None:
        return "?"
    sign, size = "-" if nano < -500 else "", abs(nano)  # less is shown as 0
    if size < 1_000_000:
        return f"{sign}{size / 1e3:.0f} µs"
    return f"{sign}{size / 1e6:.1f} ms" if size < 1_000_000_000 else f"{sign}{size / 1e9:.3f} s"


def list_line(trace: Trace) -> Line:
    """One line on a trace: when, how long, where, how many failures, and the root cause."""
    start = datetime.fromtimestamp(trace.start_unix_nano // 1_000_000_000, tz=timezone.utc)
    line = [
        Part(trace.trace_id, "name"),
        Part(
            f"  {start:%Y-%m-%dT%H:%M:%SZ}" if trace.start_unix_nano else "  " + "?".ljust(20),
            "quiet",
        ),
        Part(f"  {duration(trace.duration_nano):>10}"),
        Part(f"  {display(trace.service, 40)}  {_outcome(trace):<25}"),
    ]
    if trace.root_cause is not None:
        line += [Part("  root cause "), *_name(trace, trace.root_cause)]
    if trace.rollout_ids:
        line.append(Part(f"  rollout {sanitize(trace.rollout_ids[0], 80)}", "quiet"))
    if trace.losses:
        line.append(Part(f"  {_many(len(trace.losses), 'loss', 'losses')}", "lost"))
    return line


def picture(trace: Trace) -> Picture:
    """The whole failure graph of a trace."""
    numbers = {key: number for number, key in enumerate(trace.failures, 1)}
    title = [display(trace.service, 40), duration(trace.duration_nano), _outcome(trace)]
    if trace.rollout_ids:
        title.insert(0, f"rollout {sanitize(trace.rollout_ids[0], 80)}")
    head = [[Part("trace "), Part(trace.trace_id, "name"), Part(" · " + " · ".join(title))]]
    if trace.root_cause is not None:
        head.append(
            [Part(f"root cause: #{numbers[trace.root_cause]} "), *_name(trace, trace.root_cause)]
        )
    placed = {key for hop in trace.hops for key in hop.failures}
    # Failures above which the file holds no hop: their parents are lost, or form a ring.
    here = [
        key for key, failure in trace.failures.items() if failure.span.trace_id == trace.trace_id
    ]
    orphans = [_failure(trace, None, key, numbers) for key in here if key not in placed]
    return Picture(
        head,
        [*_hops(trace, numbers), *orphans],
        [*_elsewhere(trace, numbers), *loss_lines(trace.losses, _MAX_LOSSES)],
    )


def loss_lines(losses: Losses, most: int | None = None) -> Iterator[Line]:
    """What was lost, at `most` so many one by one."""
    for loss in losses[:most]:
        yield [Part("lost: ", "lost"), Part(f"{loss.kind}: {sanitize(loss.detail)}")]
    if most is not None and len(losses) > most:
        yield [Part("lost: ", "lost"), Part(f"{len(losses) - most} more; --json has all")]


def _hops(trace: Trace, numbers: Mapping[str, int]) -> list[Node]:
    """The hops with what is below them, by time. Iterative: how deep hops nest is up to the file."""
    nodes = {id(hop): _hop(trace, hop) for hop in trace.hops}
    below: dict[int, list[tuple[int, Node]]] = {id(hop): [] for hop in trace.hops}
    tops: list[Node] = []
    for hop in trace.hops:
        below[id(hop)] += [
            (
                trace.failures[key].time_unix_nano or hop.span.start_unix_nano,
                _failure(trace, hop, key, numbers),
            )
            for key in hop.failures
        ]
        if id(hop.parent) in below:
            below[id(hop.parent)].append((hop.span.start_unix_nano, nodes[id(hop)]))
        else:
            tops.append(nodes[id(hop)])
    for hop in trace.hops:
        nodes[id(hop)].below = [
            node for _, node in sorted(below[id(hop)], key=lambda item: item[0])
        ]
    return tops


def _hop(trace: Trace, hop: HopRecord) -> Node:
    span = hop.span
    name = [Part(display(span.name, 80), "name"), Part(f" [{display(span.service, 40)}]", "quiet")]
    return Node(duration(trace.offset(span.start_unix_nano)), duration(span.duration_nano), name)


def _failure(trace: Trace, hop: HopRecord | None, key: str, numbers: Mapping[str, int]) -> Node:
    failure = trace.failures[key]
    line = [Part(f"#{numbers[key]} "), *_name(trace, key)]
    if not failure.stands_on.is_failure_span and (hop is None or failure.stands_on is not hop.span):
        line.append(Part(f"  on {display(failure.stands_on.name, 80)}", "quiet"))
    line += _marks(trace, hop, key)
    event = redact_event(failure.event)
    notes = [[Part(f"“{sanitize(event.failure_reason)}”")]] if event.failure_reason else []
    notes += [[Part(fact, "quiet")] for fact in _facts(event)]
    cause_id = trace.report.events[key].cause_id
    if cause_id is not None:
        cause = trace.failures[cause_id].stands_on
        lost = "no span" if trace.failures[cause_id].span_id is None else "a span that is not here"
        where = lost if cause.is_failure_span else display(cause.name, 80)
        if hop is None or cause.service != hop.span.service:
            where += f" [{display(cause.service, 40)}]"
        delay = cause_delay_nano(trace, key)
        after = f", on {where}" if delay is None else f", {duration(delay)} before, on {where}"
        notes.append(
            [
                Part(f"caused by #{numbers[cause_id]} "),
                *_name(trace, cause_id),
                Part(after, "quiet"),
            ]
        )
    elif failure.event.cause_id is not None:
        notes.append(
            [Part(f"caused by {sanitize(failure.event.cause_id, 128)}, which is not here", "lost")]
        )
    return Node(duration(trace.offset(failure.time_unix_nano)), "", line, notes)


def _facts(event: FailureEvent) -> Iterator[str]:
    """What the record says besides its kind and its reason, in at most two lines."""
    if event.foreign_error is not None:
        status = event.foreign_error.http_status
        answered = "" if status is None else f" (HTTP {status})"
        name, message = (
            sanitize(event.foreign_error.exception_type, 80),
            sanitize(event.foreign_error.message),
        )
        yield f"from {name}{': ' if message else ''}{message}{answered}"
    facts = {
        "HTTP": event.http_status,
        "stage": event.stage,
        "operation": event.operation,
        "operation id": event.operation_id,
        "attempt": event.attempt_id,
        "type": event.exception_type,
        **{name.replace("_", " "): value for name, value in (event.details or ())},
    }
    said = [
        f"{name} {sanitize(str(value), 80)}" for name, value in facts.items() if value is not None
    ]
    if said:
        yield " · ".join(said)


def _marks(trace: Trace, hop: HopRecord | None, key: str) -> Line:
    marks = []
    if key == trace.report.failure_id:
        marks.append(Part("  (own failure of the trace)", "own"))
    elif hop is not None and hop.report is not None and hop.report.failure_id == key:
        marks.append(Part("  (own failure)", "own"))
    if trace.recovered is not None and key in trace.recovered:
        marks.append(Part("  (recovered)", "recovered"))
    marks += [Part(f"  ({where})", "mark") for where in _unreported(hop, key)]
    if trace.failures[key].placement == "journal":
        outside = ", outside any trace" if trace.failures[key].span_id is None else ""
        marks.append(Part(f"  (from the journal{outside})", "mark"))
    if trace.failures[key].decoded.remote:
        marks.append(Part("  (remote copy)", "mark"))
    return marks


def _unreported(hop: HopRecord | None, key: str) -> Iterator[str]:
    """The first hop upwards whose report does not hold a failure, and why; each one below reports it."""
    here = hop
    while here is not None and here.report is not None and key in here.report.events:
        here = here.parent
    if hop is None or here is None or key not in here.unreported:
        return
    by = ""
    if here is not hop:
        service = (
            f" [{display(here.span.service, 40)}]" if here.span.service != hop.span.service else ""
        )
        by = f" by {display(here.span.name, 80)}{service}"
    yield f"unreported{by}: {here.unreported[key]}"


def _elsewhere(trace: Trace, numbers: Mapping[str, int]) -> Iterator[Line]:
    """Causes that another trace holds."""
    for key, failure in trace.failures.items():
        if failure.span.trace_id != trace.trace_id:
            where = (
                f"{display(failure.stands_on.name, 80)} [{display(failure.stands_on.service, 40)}]"
            )
            yield [
                Part(f"in trace {failure.span.trace_id}, on {where}: #{numbers[key]} "),
                *_name(trace, key),
            ]


def _name(trace: Trace, key: str) -> Iterable[Part]:
    event = trace.report.events[key]
    return Part(event.boundary.value, event.boundary.value), Part(
        f" {sanitize(event.failure_kind, 80)}"
    )


def _outcome(trace: Trace) -> str:
    count = _many(len(trace.report.events), "failure", "failures")
    if trace.root is not None and trace.root.attributes.get(REPORT_UNFINISHED) is True:
        return f"{count}, unfinished"
    return count if not trace.recovered else f"{count}, {len(trace.recovered)} recovered"


def _many(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"
