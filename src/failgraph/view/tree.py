"""A failure graph as text: the hops as a tree next to their latencies, each failure once, causes by number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone

from failgraph.losses import Losses
from failgraph.readers import Trace
from failgraph.readers.trace import HopRecord
from failgraph.semconv import ROLLOUT_ID
from failgraph.view.neutral import neutral
from failgraph.view.rows import cause_delay_nano

_COLUMN = 10
_MAX_LOSSES = 10
_DEEPEST = 120
"""Characters of indentation at most, however deep hops nest."""


def duration(nano: int | None) -> str:
    """A length of time in the unit that reads best; `?` where it is unknown."""
    if nano is None:
        return "?"
    sign, size = ("-", -nano) if nano < 0 else ("", nano)
    if size < 1_000_000:
        return f"{sign}{size / 1e3:.0f} µs"
    return f"{sign}{size / 1e6:.1f} ms" if size < 1_000_000_000 else f"{sign}{size / 1e9:.3f} s"


def list_line(trace: Trace) -> str:
    """One line on a trace: when, how long, where, how many failures, and the root cause."""
    start = datetime.fromtimestamp(trace.start_unix_nano / 1e9, tz=timezone.utc)
    parts = [
        trace.trace_id,
        f"{start:%Y-%m-%dT%H:%M:%SZ}",
        f"{duration(trace.duration_nano):>{_COLUMN}}",
        neutral(trace.service, 40),
        _outcome(trace),
    ]
    if trace.root_cause is not None:
        parts.append(f"root cause {_name(trace, trace.root_cause)}")
    if trace.losses:
        parts.append(f"{_many(len(trace.losses), 'loss', 'losses')}")
    return "  ".join(parts)


def tree_lines(trace: Trace) -> Iterator[str]:
    """The whole failure graph of a trace."""
    numbers = {key: number for number, key in enumerate(trace.failures, 1)}
    rollout = trace.root.attributes.get(ROLLOUT_ID) if trace.root is not None else None
    title = [f"trace {trace.trace_id}", neutral(trace.service, 40), duration(trace.duration_nano), _outcome(trace)]
    if isinstance(rollout, str):
        title.insert(1, f"rollout {neutral(rollout, 80)}")
    yield " · ".join(title)
    if trace.root_cause is not None:
        yield f"root cause: #{numbers[trace.root_cause]} {_name(trace, trace.root_cause)}"
    yield f"{'offset':>{_COLUMN}} {'duration':>{_COLUMN}}"
    yield from _hop_tree(trace, numbers)
    yield from _without_hop(trace, numbers)
    yield from _elsewhere(trace, numbers)
    yield from loss_lines(trace.losses)


def loss_lines(losses: Losses) -> Iterator[str]:
    """What was lost, the first few one by one."""
    for loss in losses[:_MAX_LOSSES]:
        yield f"lost: {loss.kind}: {neutral(loss.detail)}"
    if len(losses) > _MAX_LOSSES:
        yield f"lost: {len(losses) - _MAX_LOSSES} more; --json has all"


def _hop_tree(trace: Trace, numbers: Mapping[str, int]) -> Iterator[str]:
    """The hops with their failures, by time. Iterative: how deep hops nest is up to the file."""
    inner: dict[int, list[HopRecord]] = {}
    shown = {id(hop) for hop in trace.hops}
    for hop in trace.hops:
        inner.setdefault(id(hop.parent) if id(hop.parent) in shown else 0, []).append(hop)
    stack: list[tuple[HopRecord | None, HopRecord | str, str, str]] = []
    stack += ((None, hop, "", "") for hop in reversed(inner.get(0, [])))
    while stack:
        above, item, branch, stem = stack.pop()
        if isinstance(item, str):
            yield from _failure_lines(trace, above, item, numbers, branch, stem)
            continue
        span = item.span
        name = f"{branch}{neutral(span.name, 80)} [{neutral(span.service, 40)}]"
        yield _line(span.start_unix_nano - trace.start_unix_nano, duration(span.duration_nano), name)
        below: list[tuple[int, HopRecord | str]] = [(trace.failures[key].time_unix_nano, key) for key in item.failures]
        below += [(hop.span.start_unix_nano, hop) for hop in inner.get(id(item), [])]
        below.sort(key=lambda each: each[0])
        rest = stem if len(stem) < _DEEPEST else stem[: _DEEPEST - 1] + "…"
        for position, (_, each) in reversed(list(enumerate(below))):
            last = position == len(below) - 1
            stack.append((item, each, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")))


def _failure_lines(
    trace: Trace, hop: HopRecord | None, key: str, numbers: Mapping[str, int], branch: str, stem: str
) -> Iterator[str]:
    failure = trace.failures[key]
    what = [f"{branch}#{numbers[key]} {_name(trace, key)}"]
    if (hop is None or failure.span is not hop.span) and not failure.span.is_failure_span:
        what.append(f"on {neutral(failure.span.name, 80)}")
    what += _marks(trace, hop, key)
    offset = failure.time_unix_nano - trace.start_unix_nano
    yield _line(offset, "", "  ".join(what))
    if failure.event.failure_reason:
        yield _line(None, "", f"{stem}   “{neutral(failure.event.failure_reason)}”")
    cause_id = trace.report.events[key].cause_id
    if cause_id is not None:
        cause = trace.failures[cause_id].span
        delay = duration(cause_delay_nano(trace, key))
        where = neutral(cause.name, 80)
        if hop is None or cause.service != hop.span.service:
            where += f" [{neutral(cause.service, 40)}]"
        yield _line(
            None, "", f"{stem}   caused by #{numbers[cause_id]} {_name(trace, cause_id)}, {delay} before, on {where}"
        )
    elif failure.event.cause_id is not None:
        yield _line(None, "", f"{stem}   caused by {neutral(failure.event.cause_id, 128)}, which is not here")


def _marks(trace: Trace, hop: HopRecord | None, key: str) -> list[str]:
    marks = []
    if key == trace.report.failure_id:
        marks.append("(own failure of the trace)")
    elif hop is not None and hop.report is not None and hop.report.failure_id == key:
        marks.append("(own failure)")
    if trace.recovered is not None and key in trace.recovered:
        marks.append("(recovered)")
    if hop is not None and key in hop.unreported:
        marks.append(f"(unreported: {hop.unreported[key]})")
    if trace.failures[key].decoded.remote:
        marks.append("(remote copy)")
    return marks


def _without_hop(trace: Trace, numbers: Mapping[str, int]) -> Iterator[str]:
    """Failures above which the file holds no hop: their parents are lost, or form a ring."""
    placed = {key for hop in trace.hops for key in hop.failures}
    for key, failure in trace.failures.items():
        if key not in placed and failure.span.trace_id == trace.trace_id:
            yield from _failure_lines(trace, None, key, numbers, "", "")


def _elsewhere(trace: Trace, numbers: Mapping[str, int]) -> Iterator[str]:
    """Causes that another trace holds."""
    for key, failure in trace.failures.items():
        if failure.span.trace_id != trace.trace_id:
            where = f"{neutral(failure.span.name, 80)} [{neutral(failure.span.service, 40)}]"
            yield f"in trace {failure.span.trace_id}, on {where}: #{numbers[key]} {_name(trace, key)}"


def _line(offset: int | None, length: str, text: str) -> str:
    return f"{'' if offset is None else duration(offset):>{_COLUMN}} {length:>{_COLUMN}}  {text}".rstrip()


def _name(trace: Trace, key: str) -> str:
    event = trace.report.events[key]
    return f"{event.boundary.value} {neutral(event.failure_kind, 80)}"


def _outcome(trace: Trace) -> str:
    count = _many(len(trace.report.events), "failure", "failures")
    return count if not trace.recovered else f"{count}, {len(trace.recovered)} recovered"


def _many(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"
