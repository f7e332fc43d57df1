"""Differences between a failure graph as it was sent and as it was read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph.failure.records import FailureReport
from failgraph.readers import FailureRecord, Trace
from failgraph.redaction.display import display
from failgraph.semconv import ROLLOUT_ID

_CLOCK_NANO = 1000  # Jaeger's own API cuts times to µs
_MAX_SHOWN = 60  # characters of a value


def report_differences(sent: FailureReport, received: FailureReport) -> Iterator[str]:
    """Yield each difference between two reports in words, field by field, safe to show."""
    for event_id, event in sent.events.items():
        failure = f"{event.boundary.value} {event.failure_kind}"
        if event_id not in received.events:
            yield f"failure {failure} is missing"
            continue
        before = _flatten(event.model_dump(mode="json"))
        after = _flatten(received.events[event_id].model_dump(mode="json"))
        for name in dict.fromkeys((*before, *after)):
            if before.get(name) != after.get(name):
                yield f"{name} of {failure}: {_change(before.get(name), after.get(name))}"
    if sent.failure_id != received.failure_id:
        yield f"own failure: {_change(sent.failure_id, received.failure_id)}"
    if received.omitted and not sent.omitted:
        yield "the report says that failures were omitted"


def trace_differences(sent: Trace, received: Trace) -> Iterator[str]:
    """Yield each difference between two traces in words, safe to show.

    Besides those of the reports: times, spans, hops, rollout, root cause and losses.
    """
    yield from report_differences(sent.report, received.report)
    for event_id, failure in sent.failures.items():
        if event_id in received.failures:
            yield from _failure_differences(failure, received.failures[event_id])
    received_hops = {hop.span.span_id: hop for hop in received.hops}
    for hop in sent.hops:
        name = display(hop.span.name, _MAX_SHOWN)
        received_hop = received_hops.get(hop.span.span_id)
        if received_hop is None:
            yield f"hop {name} is missing"
        elif received_hop.report != hop.report:
            yield f"the report of hop {name} differs"
    if sent.rollout_ids != received.rollout_ids:
        yield f"{ROLLOUT_ID} is missing"
    if (sent.root_cause, sent.recovered) != (received.root_cause, received.recovered):
        yield "the root cause or the recovered failures differ"
    for loss in received.losses:
        if loss not in sent.losses:
            yield f"{loss.kind}: {display(loss.detail, 200)}"


def _failure_differences(sent: FailureRecord, received: FailureRecord) -> Iterator[str]:
    name = f"{sent.event.boundary.value} {sent.event.failure_kind}"
    shift = received.time_unix_nano - sent.time_unix_nano
    if abs(shift) > _CLOCK_NANO:
        yield f"time of {name}: off by {shift} ns"
    if (sent.span.span_id, sent.placement) != (received.span.span_id, received.placement):
        yield f"{name} is on another span"


def _flatten(fields: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Return nested fields by their names with dots, such as `details.exit_code`."""
    flat: dict[str, object] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _change(before: object, after: object) -> str:
    """Return both values, or only their sizes if these differ: a long text was cut."""
    if isinstance(before, str) and isinstance(after, str):
        size_before, size_after = _size(before), _size(after)
        if size_before != size_after:
            return f"{size_before} bytes before, {size_after} after"
    return f"{_show(before)} before, {_show(after)} after"


def _size(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text.encode(errors="surrogatepass"))


def _show(value: object) -> str:
    return "nothing" if value is None else display(repr(value), _MAX_SHOWN)
