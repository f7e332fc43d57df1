"""Turn OTLP protobuf into spans: `TracesData`, plain or length-prefixed, and Tempo's responses.

One `ResourceSpans` is read at a time, so that memory does not grow with the file. Only a
`TraceByIDResponse` of Tempo is held whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, compress, repeat
from operator import not_
from typing import IO, Any

from failgraph.readers.protobuf_messages import is_framed, message_fields
from failgraph.readers.protobuf_records import resource_record, span_record
from failgraph.readers.skimming.protobuf_heads import are_usual, row_times, span_rows
from failgraph.readers.skimming.protobuf_types import message_classes
from failgraph.readers.skimming.skimmer import READ_ALL, ReadPlan
from failgraph.readers.skimming.typed_json import SpanTimes
from failgraph.readers.summary import SourceSummary
from failgraph.readers.tempo_protobuf import TempoResponse
from failgraph.traces.spans import KINDS, SpanRecord


def protobuf_spans(
    stream: IO[bytes], head: bytes, summary: SourceSummary, plan: ReadPlan = READ_ALL
) -> Iterator[SpanRecord]:
    """Yield the spans of a stream. Messages that cannot be read are added to the summary.

    Args:
        stream: OTLP protobuf.
        head: The beginning of the stream, which decides how messages are separated.
        summary: Receives counts and losses.
        plan: Which spans to read in full.
    """
    from google.protobuf.message import DecodeError

    response = TempoResponse(summary)
    number = 0
    for field in message_fields(stream, summary, is_framed=is_framed(head)):
        for message in response.resource_spans(field):
            number += 1
            try:
                resource_spans = message_classes().resource_spans.FromString(message)
            except DecodeError:
                summary.add_bad_line(f"message {number} is not OTLP protobuf")
                continue
            # A response that is partial is partial for each of its traces: skip none of them.
            plan_here = READ_ALL if response.is_wrapped else plan
            reader = _MessageReader(number, summary, plan_here)
            for span in reader.spans(message, resource_spans):
                response.add_trace_id(span.trace_id)
                yield span
    response.close()


class _MessageReader:
    """Read the spans of one `ResourceSpans`."""

    def __init__(self, number: int, summary: SourceSummary, plan: ReadPlan) -> None:
        self._number = number
        self._summary = summary
        self._plan = plan

    def spans(self, message: bytes, resource_spans: Any) -> Iterator[SpanRecord]:
        """Yield the spans that the plan asks for, and hand on the others as skipped."""
        from google.protobuf.message import DecodeError

        classes, summary = message_classes(), self._summary
        on_skipped = self._plan.on_skipped
        skims = on_skipped is not None
        scopes = resource_spans.scope_spans
        rows_of_scopes: Iterable[bytes] = repeat(b"")
        if skims:
            rows_of_scopes = span_rows(message, sum(len(scope.spans) for scope in scopes))
        skipped: list[Iterable[SpanTimes]] = []
        resource = None
        for scope, rows in zip(scopes, rows_of_scopes, strict=False):
            spans = list(scope.spans)
            selected = self._plan.select(spans)
            parsed: Iterable[bool] = selected
            if skims and are_usual(rows, len(spans)):
                skipped.append(compress(row_times(rows), map(not_, selected)))
                summary.spans += selected.count(False)
            elif skims:
                parsed = repeat(True)
            for data, in_full in compress(zip(spans, selected, strict=True), parsed):
                try:
                    span = (classes.span if in_full else classes.span_head).FromString(data)
                except DecodeError:
                    self._add_problem("a span is not OTLP protobuf")
                    continue
                if not self._check(span):
                    continue
                if in_full:
                    resource = resource or resource_record(resource_spans.resource)
                    yield span_record(span, data, resource, with_event_attributes=not skims)
                else:
                    times = (span.trace_id, span.start_time_unix_nano, span.end_time_unix_nano)
                    skipped.append([times])
                    summary.spans += 1
        if on_skipped is not None:
            on_skipped(chain.from_iterable(skipped))

    def _check(self, span: Any) -> bool:
        """Return True if the span has valid ids. Report invalid ids and an invalid kind."""
        if not _is_id(span.trace_id, 16) or not _is_id(span.span_id, 8):
            self._add_problem("a span without a valid id")
            return False
        if not 0 <= span.kind < len(KINDS):
            self._add_problem("a span with an invalid kind")
        return True

    def _add_problem(self, problem: str) -> None:
        self._summary.add_bad_line(f"message {self._number}: {problem}")


def _is_id(value: bytes, size: int) -> bool:
    return len(value) == size and any(value)
