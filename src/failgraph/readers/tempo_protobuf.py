"""Unwrap protobuf responses of Tempo's v2 API: a `TraceByIDResponse` around the trace.

Tempo's v1 API returns a `Trace`, which is the same on the wire as OTLP's `TracesData`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

from failgraph.readers.api_responses import partial_reason
from failgraph.readers.protobuf_messages import FIRST_FIELD, message_fields
from failgraph.readers.protobuf_wire import Field, tags
from failgraph.readers.summary import SourceSummary

# Field 2 of a `ResourceSpans`. A `ResourceSpans` without it holds no span; a `Trace` never has it.
_SCOPE_SPANS = 0x12
_METRICS, _STATUS, _MESSAGE = 0x12, 0x18, 0x22  # fields of a `TraceByIDResponse`
_PARTIAL = 1


class TempoResponse:
    """Take the fields of the outermost message, and find the `ResourceSpans` in them.

    What a response reports about its trace comes after the trace.

    Args:
        summary: Receives what the responses report.
    """

    def __init__(self, summary: SourceSummary) -> None:
        self._summary = summary
        self.is_wrapped = False  # True inside a `TraceByIDResponse`
        self._trace_ids: dict[str, None] = {}
        self._is_partial = False
        self._partial_reason = partial_reason("")

    def resource_spans(self, field: Field) -> Iterator[bytes]:
        """Yield each `ResourceSpans` in a field of the outermost message."""
        if field.tag == FIRST_FIELD:
            self.close()
            self.is_wrapped = all(tag == FIRST_FIELD for tag in tags(field.data))
            if not self.is_wrapped:
                yield field.data
                return
            self._summary.is_response |= not field.data
            for part in message_fields(io.BytesIO(field.data), self._summary):
                if _SCOPE_SPANS in tags(part.data):
                    yield part.data
        elif field.tag in (_METRICS, _STATUS, _MESSAGE):
            self._summary.is_response = True
            if field.tag == _STATUS and field.value == _PARTIAL:
                self._is_partial = True
            if field.tag == _MESSAGE:
                self._partial_reason = partial_reason(field.data.decode("utf-8", "ignore"))

    def add_trace_id(self, trace_id: str) -> None:
        """Note that the response holds a span of this trace."""
        if self.is_wrapped:
            self._trace_ids[trace_id] = None

    def close(self) -> None:
        """End the response. Another one may follow."""
        if self._is_partial:
            if not self._trace_ids:
                self._summary.add_refusal(self._partial_reason)
            for trace_id in self._trace_ids:
                self._summary.add_partial_trace(trace_id, self._partial_reason)
        self._trace_ids, self._is_partial = {}, False
        self._partial_reason = partial_reason("")
