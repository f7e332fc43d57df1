"""Turn JSON documents into spans: OTLP, responses of Jaeger and Tempo, journals, and Gym's rows."""

from __future__ import annotations

from collections.abc import Container, Iterator

from failgraph.journal.lines import is_journal_line, is_removed_note
from failgraph.readers.api_responses import is_jaeger_trace, unwrap
from failgraph.readers.jaeger_json import jaeger_spans
from failgraph.readers.journal_ids import JournalIds
from failgraph.readers.journal_spans import journal_spans
from failgraph.readers.json_values import DocumentContext
from failgraph.readers.otlp_json import SkimmedSpanReader, otlp_spans
from failgraph.readers.row_shapes import row_shape
from failgraph.readers.row_spans import row_spans
from failgraph.readers.skimming.skimmer import SkimmedDocument
from failgraph.readers.summary import SourceSummary
from failgraph.traces.spans import SpanRecord


class DocumentReader:
    """Turn the documents of one source into spans.

    Args:
        summary: Receives what cannot be read, and what a backend reports besides traces.
        trace_ids: The wanted traces, or None for all. Spans of others may be returned too.
        journal_ids: The ids of journal lines in the files before, or None if there are none.
    """

    def __init__(
        self,
        summary: SourceSummary,
        trace_ids: Container[str] | None = None,
        journal_ids: JournalIds | None = None,
    ) -> None:
        self._summary = summary
        self._trace_ids = trace_ids
        self._journal_ids = journal_ids or JournalIds()
        self._skimmed = SkimmedSpanReader()

    def spans(self, document: object, line: int) -> Iterator[SpanRecord]:
        """Yield the spans of a document, or of a list of documents, that begins in this line."""
        summary = self._summary
        context = DocumentContext(line, summary, self._trace_ids)
        if isinstance(document, SkimmedDocument):
            yield from self._skimmed.spans(document.unskimmed, context)
            return
        for response in unwrap(document):
            summary.is_response |= response.is_wrapped
            for error in response.errors:
                summary.add_refusal(error)
            is_empty = True
            for content in response.contents:
                for span in self._content_spans(content, context, is_jaeger=response.is_jaeger):
                    is_empty = False
                    if response.partial_reason is not None:
                        summary.add_partial_trace(span.trace_id, response.partial_reason)
                    yield span
            if is_empty and response.partial_reason is not None:
                summary.add_refusal(response.partial_reason)

    def _content_spans(
        self, content: object, context: DocumentContext, *, is_jaeger: bool
    ) -> Iterator[SpanRecord]:
        fields = context.dict(content, "a document")
        if is_journal_line(content) or is_removed_note(content):
            return journal_spans(fields, context, self._journal_ids)
        if row_shape(content) is not None:
            return row_spans(fields, context)
        if is_jaeger and not is_jaeger_trace(content):
            context.add_problem("a trace without spans")
        return jaeger_spans(fields, context) if is_jaeger else otlp_spans(fields, context)
