"""Write failures: onto a span or a failure span, and into the journal, each once a trace."""

from __future__ import annotations

from opentelemetry.trace import Span, SpanContext

from failgraph.codec import CauseSpan, encode_event
from failgraph.diagnostics import count, guard
from failgraph.journal.files import Journal, WriteResult
from failgraph.recording import sdk_spans
from failgraph.recording.entry import Entry
from failgraph.recording.hop import hop_of
from failgraph.recording.index import Index
from failgraph.recording.journal_line import journal_line
from failgraph.recording.placement import Placement, Recorded
from failgraph.semconv import ROLLOUT_ID
from failgraph.settings import current

_MAX_TRACES_REMEMBERED = 64
"""Traces that an exception remembers to be written to; a cached one may pass through any number."""


class Writer:
    """Writes failures, and knows what was written.

    Attributes:
        index: What was written, by trace.
        pipelines: The pipelines of the spans that were written on.
        journal: The journal of this process.
    """

    def __init__(self) -> None:
        self.index = Index()
        self.pipelines = sdk_spans.Pipelines()
        self.journal = Journal()

    def write(self, entry: Entry) -> Recorded:
        """Write a failure to its trace and to the journal. Return where it went."""
        duplicate = self._find_duplicate(entry)
        if duplicate is not None:
            return duplicate
        event_id, context = entry.observation.event.event_id, entry.context
        recorded = Recorded(event_id, "nowhere", None)
        try:
            with guard("record"):
                if context.is_valid:
                    recorded = self._write_to_trace(entry)
        finally:
            if recorded.span_context is None:
                self.index.release(context.trace_id, event_id)
            recorded = self._write_to_journal(entry, recorded)
        _count_placement(recorded.placement)
        if recorded.span_context is not None:
            self._remember(entry, recorded.span_context)
        return recorded

    def _find_duplicate(self, entry: Entry) -> Recorded | None:
        """Return where the failure is if this trace has it; else claim the right to write it."""
        observation, context = entry.observation, entry.context
        event_id = observation.event.event_id
        if observation.written is not None and context.trace_id in observation.written:
            span_context = self.index.span_of(context.trace_id, event_id)
            return Recorded(event_id, "duplicate", span_context)
        if not context.is_valid:
            return None
        known = self.index.claim(
            context.trace_id,
            observation.event,
            is_remote=observation.is_remote,
            in_hop=entry.in_hop,
        )
        return None if known is None else Recorded(event_id, "duplicate", known.span_context)

    def _write_to_trace(self, entry: Entry) -> Recorded:
        observation, span, context = entry.observation, entry.span, entry.context
        event = observation.event
        time_unix_nano = max(observation.birth.time_unix_nano, sdk_spans.start_time(span))
        cause = self.index.place_of(event.cause_id, context.trace_id)
        limits, holder = sdk_spans.span_limits(span), span
        if not self._has_room(entry, limits):
            failure_span = sdk_spans.start_failure_span(
                span, time_unix_nano, self.pipelines, _rollout_id_of(entry)
            )
            if failure_span is None:
                return Recorded(event.event_id, "nowhere", None)
            limits, holder = sdk_spans.span_limits(failure_span), failure_span
        if limits.events == 0:
            return Recorded(event.event_id, "nowhere", None)
        if cause is not None:
            self._link(entry, holder, cause)
        attributes = encode_event(
            event,
            seq=entry.seq,
            remote=observation.is_remote,
            late=entry.is_late,
            cause=None if cause is None else _cause_span(cause),
            limits=limits.event,
        )
        sdk_spans.emit(holder, attributes, time_unix_nano)
        self.pipelines.note_written(holder)
        if holder is span:
            return Recorded(event.event_id, "span", context)
        sdk_spans.end_failure_span(holder, time_unix_nano)
        return Recorded(event.event_id, "failure_span", holder.get_span_context())

    def _has_room(self, entry: Entry, limits: sdk_spans.SpanLimits) -> bool:
        """Return True if the event goes on the span itself, and take its slot there."""
        if entry.observation.is_urgent or current().events != "span":
            return False
        if not sdk_spans.is_live(entry.span):
            return False
        if not sdk_spans.has_event_room(entry.span, limits.events):
            return False
        return self.index.take_event_slot(entry.context)

    def _link(self, entry: Entry, holder: Span, cause: SpanContext) -> None:
        """Link the span that holds the event to the span of the cause, if it may have that link."""
        stands_for = None if holder is entry.span else entry.context
        if not _may_link(holder, cause, stands_for):
            return
        # A failure span is new and holds one failure, so it needs no account of its links.
        if stands_for is not None or self.index.take_link(entry.context, cause):
            holder.add_link(
                cause, sdk_spans.link_attributes(holder, entry.observation.event.cause_id or "")
            )

    def _write_to_journal(self, entry: Entry, recorded: Recorded) -> Recorded:
        """Write a failure to the journal, if there is one; it counts for what is in no trace."""
        folder = current().journal
        if folder is None:
            return recorded
        with guard("journal"):
            in_no_trace = recorded.placement == "nowhere"
            placement = "journal" if in_no_trace else recorded.placement
            line = journal_line(entry, placement)
            result = self.journal.write(line, folder, current().journal_max_bytes)
            if in_no_trace and result is WriteResult.WRITTEN:
                return recorded._replace(placement="journal")
            if in_no_trace and result is WriteResult.ALREADY_WRITTEN:
                return recorded._replace(placement="duplicate")
        return recorded

    def _remember(self, entry: Entry, span_context: SpanContext) -> None:
        """Remember where a failure was written."""
        observation, trace_id = entry.observation, entry.context.trace_id
        if observation.written is not None:
            observation.written[trace_id] = None
            if len(observation.written) > _MAX_TRACES_REMEMBERED:
                del observation.written[next(iter(observation.written))]
        self.index.set_place(observation.event, span_context, is_remote=observation.is_remote)
        if not entry.span.is_recording():
            self.index.retire(trace_id)


def _count_placement(placement: Placement) -> None:
    if placement == "nowhere":
        count("nowhere")
    elif placement != "duplicate":
        count(f"recorded_{placement}")


def _cause_span(context: SpanContext) -> CauseSpan:
    return CauseSpan(f"{context.trace_id:032x}", f"{context.span_id:016x}")


def _rollout_id_of(entry: Entry) -> str | None:
    """Return the rollout id that the span, or an open hop around it, carries."""
    hop = hop_of(entry.observation.birth)
    hops = () if hop is None else (hop, *hop.enclosing())
    for span in (entry.span, *(each.span for each in hops if each.span is not None)):
        rollout_id = sdk_spans.attributes_of(span).get(ROLLOUT_ID)
        if isinstance(rollout_id, str):
            return rollout_id
    return None


def _may_link(source: Span, cause: SpanContext, stands_for: SpanContext | None) -> bool:
    """Return True if a span may link to the span of a cause.

    It never links to itself, to its parent or twice to one span, and only into another trace. A
    failure span, whose parent is then `stands_for`, also links inside its trace.
    """
    context, parent = source.get_span_context(), stands_for or getattr(source, "parent", None)
    if stands_for is None and context.trace_id == cause.trace_id:
        return False
    if sdk_spans.is_same_span(context, cause) or not sdk_spans.has_link_room(source):
        return False
    if isinstance(parent, SpanContext) and sdk_spans.is_same_span(parent, cause):
        return False
    return not sdk_spans.has_link(source, cause)
