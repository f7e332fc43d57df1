"""Files of spans to export: OTLP as JSON or protobuf, also from Jaeger's API v3 or Tempo."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

from failgraph.export.otlp_documents import SpanGroup, span_groups
from failgraph.journal.lines import is_journal_line
from failgraph.losses import Loss
from failgraph.readers.api_responses import unwrap
from failgraph.readers.file_pass import is_html
from failgraph.readers.json_documents import json_documents
from failgraph.readers.protobuf_messages import is_framed, looks_like_protobuf, message_fields
from failgraph.readers.row_shapes import row_shape
from failgraph.readers.source import SourceFile
from failgraph.readers.summary import SourceSummary
from failgraph.readers.tempo_protobuf import TempoResponse
from failgraph.redaction.display import display

# The first keys of a document. A saved row may have the same ones inside.
_SPAN_KEYS = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*\[?\s*\{\s*(?:"(?:data|result|trace)"\s*:\s*(?:\[\s*)?\{\s*)*'
    rb'"(?:resource_?[sS]pans|batches|spans|traceID)"\s*:'
)
_JAEGER_KEY = re.compile(rb'(?<!\\)"(?:traceID|processes)"\s*:')


def holds_spans(head: bytes) -> bool:
    """Return True if a file begins as files of spans usually do."""
    return looks_like_protobuf(head) or _SPAN_KEYS.match(head) is not None


class SpanFile:
    """A file of spans.

    Attributes:
        problems: Sentences about what could not be read besides. Complete once `groups` has ended.
        rejection: A sentence if the file has no span, else None. Complete as above.
        is_foreign: True if it has no span because it is something else. Complete as above.
    """

    def __init__(self, source: SourceFile, head: bytes) -> None:
        self._name = display(source.name)
        self._head = head
        self._summary = SourceSummary(is_html=is_html(head), is_protobuf=looks_like_protobuf(head))
        self.problems: list[str] = []
        self.rejection: str | None = None
        self.is_foreign = False

    def groups(self, stream: IO[bytes]) -> Iterator[SpanGroup]:
        """Yield all spans of the file."""
        read = _protobuf_groups if looks_like_protobuf(self._head) else _json_groups
        try:
            for group in read(stream, self._head, self._summary):
                self._summary.spans += len(group.spans)
                yield group
        finally:
            self._close()

    def _close(self) -> None:
        summary = self._summary
        summary.close()
        if summary.spans:
            losses: list[Loss] = [*summary.losses, *summary.partial_trace_losses()]
            self.problems += [f"{self._name}: {display(loss.detail)}" for loss in losses]
        elif _JAEGER_KEY.search(self._head):
            self.rejection = (
                f"{self._name}: Jaeger's own JSON cannot be exported, since it is not whole."
                " Get the trace from Jaeger's API v3 (/api/v3/traces/ID), which returns OTLP."
            )
        else:
            self.rejection = f"{self._name}: {display(summary.no_trace_text())}"
            self.is_foreign = not summary.bad_lines


def _json_groups(stream: IO[bytes], _: bytes, summary: SourceSummary) -> Iterator[SpanGroup]:
    for line, document in json_documents(stream, summary):

        def add_problem(problem: str, line: int = line) -> None:
            summary.add_bad_line(f"line {line}: {problem}")

        for response in unwrap(document):
            summary.is_response |= response.is_wrapped
            for error in response.errors:
                summary.add_refusal(error)
            if response.partial_reason is not None:
                add_problem(response.partial_reason)
            for content in response.contents:
                if row_shape(content) is not None or is_journal_line(content):
                    add_problem("a saved row or journal line among spans; move it to another file")
                elif isinstance(content, dict) and not response.is_jaeger:
                    yield from span_groups(content, add_problem)


def _protobuf_groups(stream: IO[bytes], head: bytes, summary: SourceSummary) -> Iterator[SpanGroup]:
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

    response = TempoResponse(summary)
    number = 0

    def add_problem(problem: str) -> None:
        summary.add_bad_line(f"message {number}: {problem}")

    for field in message_fields(stream, summary, is_framed=is_framed(head)):
        for data in response.resource_spans(field):
            number += 1
            try:
                message = ResourceSpans.FromString(data)
            except DecodeError:
                # Tempo cuts strings in the middle of a character.
                add_problem("not OTLP protobuf, or a text that is not UTF-8")
                continue
            size = message.ByteSize()
            message.DiscardUnknownFields()
            if message.ByteSize() != size:
                add_problem("fields that opentelemetry-proto does not know are left out")
            document = {"resourceSpans": [MessageToDict(message, use_integers_for_enums=True)]}
            for group in span_groups(document, add_problem):
                for span in group.spans:
                    response.add_trace_id(span["traceId"])
                yield group
    response.close()
