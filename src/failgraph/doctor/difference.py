"""What of a failure graph is different on the other side, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph.failure.records import FailureReport
from failgraph.readers import Trace
from failgraph.redaction.display import display
from failgraph.semconv import ROLLOUT_ID

_CLOCK_NANO = 1000
"""Times may differ by what Jaeger's own API cannot tell apart."""
_SHOWN = 60


def report_differences(here: FailureReport, there: FailureReport) -> Iterator[str]:
    """Each field of each failure, and what the report says of them as a whole."""
    for key, event in here.events.items():
        if key not in there.events:
            yield f"the failure {event.boundary.value} {event.failure_kind} is missing"
            continue
        before, after = (
            _flat(report.events[key].model_dump(mode="json")) for report in (here, there)
        )
        for name in dict.fromkeys((*before, *after)):
            if before.get(name) != after.get(name):
                change = _change(before.get(name), after.get(name))
                yield f"{name} of {event.boundary.value} {event.failure_kind}: {change}"
    if here.failure_id != there.failure_id:
        yield f"the own failure: {_change(here.failure_id, there.failure_id)}"
    if there.omitted and not here.omitted:
        yield "the report says that failures were left out"


def trace_differences(here: Trace, there: Trace) -> Iterator[str]:
    """As of their reports, and where and when each failure was, each hop, and what was lost on the way."""
    yield from report_differences(here.report, there.report)
    for key, failure in here.failures.items():
        other = there.failures.get(key)
        if other is None:
            continue
        what = f"{failure.event.boundary.value} {failure.event.failure_kind}"
        if abs(failure.time_unix_nano - other.time_unix_nano) > _CLOCK_NANO:
            yield f"the time of {what}: {other.time_unix_nano - failure.time_unix_nano} ns off"
        if (failure.span.span_id, failure.placement) != (other.span.span_id, other.placement):
            yield f"{what} is on another span"
    back = {hop.span.span_id: hop for hop in there.hops}
    for hop in here.hops:
        same = back.get(hop.span.span_id)
        if same is None:
            yield f"the hop {display(hop.span.name, _SHOWN)} is missing"
        elif same.report != hop.report:
            yield f"the report of the hop {display(hop.span.name, _SHOWN)} is another one"
    if here.rollout_ids != there.rollout_ids:
        yield f"{ROLLOUT_ID} is missing"
    if (here.root_cause, here.recovered) != (there.root_cause, there.recovered):
        yield "the root cause, or what recovered, is another one"
    yield from (
        f"{loss.kind}: {display(loss.detail, 200)}"
        for loss in there.losses
        if loss not in here.losses
    )


def _flat(fields: Mapping[str, object], above: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{above}{name}.")
        else:
            flat[f"{above}{name}"] = value
    return flat


def _change(before: object, after: object) -> str:
    if isinstance(before, str) and isinstance(after, str):
        sizes = [len(text.encode(errors="surrogatepass")) for text in (before, after)]
        if sizes[0] != sizes[1]:
            return f"{sizes[0]} bytes before, {sizes[1]} after"
    return " before, ".join(_shown(value) for value in (before, after)) + " after"


def _shown(value: object) -> str:
    return "nothing" if value is None else display(repr(value), _SHOWN)
