"""One failure onto a span: which span it belongs to, what it says there, and whether it links to its cause's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, Span, SpanContext

from failgraph.codec import CauseSpan as Place, encode_event
from failgraph.context import Birth
from failgraph.diagnostics import guard
from failgraph.journal.files import Journal, WriteResult
from failgraph.recording import sdk_spans
from failgraph.recording.hop_log import Logged
from failgraph.recording.index import Index
from failgraph.recording.journal_line import line_of
from failgraph.recording.observation import Observation
from failgraph.semconv import ROLLOUT_ID
from failgraph.settings import current

if TYPE_CHECKING:
    from failgraph.recording.hops import Hop

Placement = Literal["span", "failure_span", "journal", "deferred", "duplicate", "nowhere"]


class Recorded(NamedTuple):
    """Where a failure is in the trace; `journal` where it is in the journal alone."""

    event_id: str | None
    """None where nothing could be recorded at all."""
    placement: Placement
    span_context: SpanContext | None
    """The span that holds it."""


NOTHING = Recorded(None, "nowhere", None)


def ended(span: Span | None) -> bool:
    """Whether `span`, of this process and sampled, has ended: what was made in it has left it unseen."""
    if span is None or isinstance(span, NonRecordingSpan) or span.is_recording():
        return False
    return span.get_span_context().trace_flags.sampled


def of_trace(birth: Birth, hop: Hop) -> bool:
    """Whether a failure was made in the trace of `hop`, or nobody knows of another."""
    return birth.span is None or hop.trace_id in (None, birth.span.get_span_context().trace_id)


def note(logged: Logged, birth: Birth, now: Birth, *, own: bool) -> list[Hop]:
    """Put a failure into the log of each open hop that sees it: where it was made, and where it is recorded."""
    found: list[Hop] = []
    for hop in (now.hop, birth.hop):
        opened = hop.open() if hop is not None else None
        if opened is not None and opened not in found:
            opened.log.note(logged)
            found.append(opened)
    if own and found:
        found[0].log.claim(logged.event.event_id)
    return found


def choose_span(
    given: Span | None, birth: Birth, now: Birth, open_hops: list[Hop]
) -> tuple[Span, Hop | None]:
    """The span that a failure belongs to, and the hop that this span is of."""
    if given is not None:
        return given, now.hop or birth.hop
    if birth.span is not None:
        if (
            not _reachable(birth.span)
            and now.span is not None
            and _same_trace(now.span, birth.span)
        ):
            return now.span, now.hop
        return birth.span, birth.hop
    for hop in open_hops:
        if hop.span is not None:
            return hop.span, hop
    return INVALID_SPAN, None


def _reachable(span: Span) -> bool:
    """Whether what is put on `span`, or on a failure span below it, is exported."""
    return span.get_span_context().trace_flags.sampled


def _same_trace(one: Span, other: Span) -> bool:
    return one.get_span_context().trace_id == other.get_span_context().trace_id


def write(
    index: Index,
    pipelines: sdk_spans.Pipelines,
    journal: Journal,
    observation: Observation,
    span: Span,
    seq: int,
    *,
    own: bool,
    late: bool,
) -> Recorded:
    """Write one failure, which is claimed, into the trace of `span` and into the journal; where it then is."""
    context, event_id = span.get_span_context(), observation.event.event_id
    recorded = Recorded(event_id, "nowhere", None)
    try:
        with guard("record"):
            if context.is_valid:
                recorded = put(index, pipelines, observation, span, seq, late=late)
    finally:
        if recorded.span_context is None:
            index.release(context.trace_id, event_id)
        folder = current().journal
        if folder is not None:
            with guard("journal"):
                recorded = _keep(
                    journal, folder, observation, span, seq, recorded, own=own, late=late
                )
    return recorded


def _rollout_of(span: Span, hop: Hop | None) -> str | None:
    """The rollout that a span, or an open hop around it, says it is of."""
    hops = [] if hop is None else [hop, *hop.around()]
    for each in (span, *(around.span for around in hops if around.span is not None)):
        rollout_id = sdk_spans.attributes_of(each).get(ROLLOUT_ID)
        if isinstance(rollout_id, str):
            return rollout_id
    return None


def put(
    index: Index,
    pipelines: sdk_spans.Pipelines,
    observation: Observation,
    span: Span,
    seq: int,
    *,
    late: bool,
) -> Recorded:
    """Write one failure on `span` while it has room, else on a failure span below it; and say which."""
    event, context = observation.event, span.get_span_context()
    time_unix_nano = max(observation.birth.time_unix_nano, sdk_spans.start_time(span))
    cause = index.place_of(event.cause_id, context.trace_id)
    placed: Placement = "span"
    target: Span | None = span
    limits = sdk_spans.span_limits(span)
    waits = current().placement == "span" and not observation.at_once
    fits = waits and sdk_spans.is_live(span) and sdk_spans.has_room(span, limits.events)
    if not fits or not index.take_slot(context):
        rollout_id = _rollout_of(span, observation.birth.hop)
        placed, target = (
            "failure_span",
            sdk_spans.failure_span(span, time_unix_nano, pipelines, rollout_id),
        )
        limits = limits if target is None else sdk_spans.span_limits(target)
    if target is None or limits.events == 0:
        return Recorded(event.event_id, "nowhere", None)
    if cause is not None and _may_link(
        index, target, cause, context if target is not span else None
    ):
        target.add_link(cause, sdk_spans.link_attributes(target, event.cause_id or ""))
    attributes = encode_event(
        event,
        seq=seq,
        remote=observation.remote,
        late=late,
        cause=Place(f"{cause.trace_id:032x}", f"{cause.span_id:016x}")
        if cause is not None
        else None,
        limits=limits.event,
    )
    sdk_spans.emit(target, attributes, time_unix_nano)
    if target is not span:
        sdk_spans.end_failure_span(target, time_unix_nano)
    return Recorded(event.event_id, placed, target.get_span_context())


def _keep(
    journal: Journal,
    folder: str,
    observation: Observation,
    span: Span,
    seq: int,
    recorded: Recorded,
    *,
    own: bool,
    late: bool,
) -> Recorded:
    """Write a failure into the journal; `recorded`, with that where it is in no trace."""
    alone = recorded.placement == "nowhere"
    line = line_of(
        observation, span, seq, "journal" if alone else recorded.placement, own=own, late=late
    )
    result = journal.write(line, folder, current().journal_max_bytes)
    if not alone or result is WriteResult.FAILED:
        return recorded
    written = result is WriteResult.WRITTEN
    return recorded._replace(placement="journal" if written else "duplicate")


def _may_link(
    index: Index, source: Span, cause: SpanContext, stands_for: SpanContext | None
) -> bool:
    """Whether a span links to that of a cause: never to itself, its parent or twice; by default only across traces.

    A failure span (`stands_for` is then its parent) links inside its trace too.
    """
    mode, context = current().links, source.get_span_context()
    parent = stands_for or getattr(source, "parent", None)
    if mode == "off" or sdk_spans.same_span(context, cause) or not sdk_spans.has_link_room(source):
        return False
    if isinstance(parent, SpanContext) and sdk_spans.same_span(parent, cause):
        return False
    if stands_for is None and mode != "all" and context.trace_id == cause.trace_id:
        return False
    return not sdk_spans.links_to(source, cause) and (
        stands_for is not None or index.take_link(context, cause)
    )
