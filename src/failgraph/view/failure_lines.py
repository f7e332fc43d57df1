"""The lines of one failure in the tree: its name and marks, and the notes below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph.failure.records import FailureEvent
from failgraph.readers import HopRecord, Trace
from failgraph.redaction import redact_event
from failgraph.redaction.display import display
from failgraph.text import MAX_ID_LENGTH, sanitize
from failgraph.view.json_rows import cause_delay_nano
from failgraph.view.lines import Line, Segment, failure_name, format_duration

_LENGTH = 200  # characters of a reason or message
_FULL_LENGTH = 100_000  # of one that is shown whole; records have at most a tenth


def failure_line(trace: Trace, hop: HopRecord | None, event_id: str, number: int) -> Line:
    """Return the line that names a failure.

    Args:
        trace: The trace that shows it.
        hop: The hop that it stands below, or None if the trace has none for it.
        event_id: The failure's id.
        number: The number by which the tree refers to it.
    """
    failure = trace.failures[event_id]
    line = [Segment(f"#{number} "), *failure_name(trace, event_id)]
    span = failure.stands_on
    if not span.is_failure_span and (hop is None or span is not hop.span):
        line.append(Segment(f"  on {display(span.name, 80)}", "quiet"))
    return [*line, *_marks(trace, hop, event_id)]


def failure_notes(
    trace: Trace,
    hop: HopRecord | None,
    event_id: str,
    numbers: Mapping[str, int],
    *,
    full: bool = False,
) -> list[Line]:
    """Return the lines below a failure: its reason, its details and its cause.

    Args:
        trace: The trace that shows it.
        hop: The hop that it stands below, or None if the trace has none for it.
        event_id: The failure's id.
        numbers: The number of each failure of the tree.
        full: True for the whole texts.
    """
    event = redact_event(trace.failures[event_id].event)
    length = _FULL_LENGTH if full else _LENGTH
    notes: list[Line] = []
    if event.failure_reason:
        notes.append([Segment(f"“{sanitize(event.failure_reason, length)}”")])
    notes += [[Segment(details, "quiet")] for details in _details(event, length)]
    cause = _cause(trace, hop, event_id, numbers)
    return notes if cause is None else [*notes, cause]


def _cause(
    trace: Trace, hop: HopRecord | None, event_id: str, numbers: Mapping[str, int]
) -> Line | None:
    """Return the line that names the cause, or None if the failure has no cause."""
    cause_id = trace.report.events[event_id].cause_id
    if cause_id is None:
        missing = trace.failures[event_id].event.cause_id
        if missing is None:
            return None
        words = f"caused by {sanitize(missing, MAX_ID_LENGTH)}, which is not in the source"
        return [Segment(words, "lost")]
    delay = cause_delay_nano(trace, event_id)
    before = "" if delay is None else f", {format_duration(delay)} before"
    return [
        Segment(f"caused by #{numbers[cause_id]} "),
        *failure_name(trace, cause_id),
        Segment(f"{before}, on {_cause_span(trace, hop, cause_id)}", "quiet"),
    ]


def _cause_span(trace: Trace, hop: HopRecord | None, cause_id: str) -> str:
    """Return the name of the span that a cause was observed on, and its service if that differs."""
    cause = trace.failures[cause_id]
    span = cause.stands_on
    if not span.is_failure_span:
        name = display(span.name, 80)
    elif cause.span_id is None:
        name = "no span"
    else:
        name = "a span that is not in the source"
    if hop is not None and span.service == hop.span.service:
        return name
    return f"{name} [{display(span.service, 40)}]"


def _details(event: FailureEvent, length: int) -> Iterator[str]:
    """Yield what a redacted record holds besides its kind and reason, in at most two lines.

    Args:
        event: The record.
        length: Characters of the message of a foreign error.
    """
    if event.foreign_error is not None:
        status = event.foreign_error.http_status
        reply = "" if status is None else f" (HTTP {status})"
        name = sanitize(event.foreign_error.exception_type, 80)
        message = sanitize(event.foreign_error.message, length)
        yield f"from {name}{': ' if message else ''}{message}{reply}"
    fields = {
        "HTTP": event.http_status,
        "stage": event.stage,
        "operation": event.operation,
        "operation id": event.operation_id,
        "attempt": event.attempt_id,
        "type": event.exception_type,
        **{name.replace("_", " "): value for name, value in (event.details or ())},
    }
    known = {name: value for name, value in fields.items() if value is not None}
    if known:
        yield " · ".join(f"{name} {sanitize(str(value), 80)}" for name, value in known.items())


def _marks(trace: Trace, hop: HopRecord | None, event_id: str) -> Iterator[Segment]:
    failure = trace.failures[event_id]
    if event_id == trace.report.failure_id:
        yield Segment("  (own failure of the trace)", "own")
    elif hop is not None and hop.report is not None and hop.report.failure_id == event_id:
        yield Segment("  (own failure)", "own")
    if trace.recovered is not None and event_id in trace.recovered:
        yield Segment("  (recovered)", "recovered")
    unreported = _unreported(hop, event_id)
    if unreported is not None:
        yield Segment(f"  ({unreported})", "mark")
    if failure.placement == "journal":
        outside = ", outside any trace" if failure.span_id is None else ""
        yield Segment(f"  (from the journal{outside})", "mark")
    if failure.decoded.remote:
        yield Segment("  (remote copy)", "mark")


def _unreported(hop: HopRecord | None, event_id: str) -> str | None:
    """Return which hop did not report a failure and why, or None if all hops above it did.

    It is the first one upwards whose report does not hold the failure.
    """
    silent = hop
    while silent is not None and silent.report is not None and event_id in silent.report.events:
        silent = silent.parent
    if hop is None or silent is None or event_id not in silent.unreported:
        return None
    reason = silent.unreported[event_id]
    if silent is hop:
        return f"unreported: {reason}"
    name = display(silent.span.name, 80)
    if silent.span.service != hop.span.service:
        name += f" [{display(silent.span.service, 40)}]"
    return f"unreported by {name}: {reason}"
