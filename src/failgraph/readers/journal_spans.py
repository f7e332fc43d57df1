"""Turn lines of a journal into spans: each failure becomes a failure span below a stand-in span.

The stand-in represents the span that the failure was observed on. The real span takes its place if
the source has it. Each chain of failures observed outside any trace becomes one trace: one incident
with one root cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph import semconv
from failgraph.codec import Attributes, encode_event
from failgraph.journal.lines import JournalLine, is_removed_note, parse_line
from failgraph.losses import Loss
from failgraph.readers.journal_ids import JournalIds
from failgraph.readers.json_values import DocumentContext, fingerprint, non_negative
from failgraph.traces.spans import KINDS, EventRecord, SpanRecord

_UNNAMED = "a span seen only in the journal"


def journal_spans(
    fields: Mapping[str, object], context: DocumentContext, journal_ids: JournalIds
) -> Iterator[SpanRecord]:
    """Yield the spans for a line: none for a note of removed failures, which is a loss."""
    if is_removed_note(fields):
        whose = f"{fields['service']} (process {fields['pid']})"
        removed = non_negative(fields["removed"])
        detail = f"{removed} failures of {whose} were removed at the journal's size limit"
        context.summary.add_loss(Loss("partial_trace", detail))
        return
    try:
        line = parse_line(fields)
    except ValueError as error:
        context.add_problem(str(error))
        return
    if line.trace_id is not None and line.span_id is not None:
        yield _stand_in(line, line.trace_id, line.span_id)
    ids = journal_ids.ids_of(line)
    yield SpanRecord(
        trace_id=ids.trace_id,
        span_id=ids.span_id,
        parent_span_id=ids.parent_span_id,
        name=semconv.EVENT_NAME,
        kind="INTERNAL",
        start_unix_nano=line.time_unix_nano,
        end_unix_nano=line.time_unix_nano,
        service=line.service,
        process=_process(line),
        attributes=failure_span_attributes(),
        events=(EventRecord(line.time_unix_nano, event_attributes(line)),),
        dropped=0,
        status="",
    )


def _stand_in(line: JournalLine, trace_id: str, span_id: str) -> SpanRecord:
    return SpanRecord(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=line.parent_span_id,
        name=line.span_name or _UNNAMED,
        kind=line.span_kind if line.span_kind in KINDS else "",
        start_unix_nano=line.span_start_unix_nano,
        end_unix_nano=0,
        service=line.service,
        process=_process(line),
        attributes={semconv.JOURNAL: True},
        events=(),
        dropped=0,
        status="",
    )


def _process(line: JournalLine) -> int:
    return fingerprint([line.service, line.pid])


def failure_span_attributes() -> Attributes:
    """Return the attributes of the failure span that is made for a line."""
    return {semconv.FAILURE_SPAN: True, semconv.JOURNAL: True}


def event_attributes(line: JournalLine) -> Attributes:
    """Return the attributes of the failure event on that span."""
    return encode_event(line.event, seq=line.seq, remote=line.remote, late=line.late)
