"""Lines of a journal as spans: each failure on a failure span of its own, below a stand-in for the span it was seen on.

The real span, where the source has it, takes the place of the stand-in. One trace stands for each chain of failures
that were observed outside any: one incident, with one root cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph import semconv
from failgraph.codec import Attributes, encode_event
from failgraph.journal.lines import JournalLine, is_removed_note, parse_line
from failgraph.losses import Loss
from failgraph.readers.json_parts import At, count, fingerprint
from failgraph.traces.spans import KINDS, EventRecord, SpanRecord

_UNNAMED = "a span that only the journal knows"


def journal_spans(fields: Mapping[str, object], at: At) -> Iterator[SpanRecord]:
    """The spans that stand for a line, or none, and what it says to be gone."""
    if is_removed_note(fields):
        whose = f"{fields['service']} (process {fields['pid']})"
        at.bad.lose(
            Loss(
                "partial_trace",
                f"{count(fields['removed'])} failures of {whose} went at the journal's limit",
            )
        )
        return
    try:
        line = parse_line(fields)
    except ValueError as error:
        at.wrong(str(error))
        return
    place = at.bad.found.origins.place(line)
    if line.trace_id is not None and line.span_id is not None:
        yield _stand_in(line, line.trace_id, line.span_id)
    yield SpanRecord(
        trace_id=place.trace_id,
        span_id=place.span_id,
        parent_span_id=place.parent_span_id,
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
    """The attributes of the failure span that is made for a line."""
    return {semconv.FAILURE_SPAN: True, semconv.JOURNAL: True}


def event_attributes(line: JournalLine) -> Attributes:
    """The attributes of its failure event."""
    return encode_event(line.event, seq=line.seq, remote=line.remote, late=line.late)
