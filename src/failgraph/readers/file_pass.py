"""Read one file once, from its beginning: detect its format and turn it into spans."""

from __future__ import annotations

from collections.abc import Iterator

from failgraph.errors import SourceError
from failgraph.readers.dialects import DocumentReader
from failgraph.readers.journal_ids import JournalIds
from failgraph.readers.json_documents import json_documents
from failgraph.readers.otlp_protobuf import protobuf_spans
from failgraph.readers.protobuf_messages import looks_like_protobuf
from failgraph.readers.skimming.skimmer import READ_ALL, ReadPlan, SkimmedDocument
from failgraph.readers.source import GZIP_ERRORS, HEAD_SIZE, Progress, SourceFile, decompressed
from failgraph.readers.summary import SourceSummary
from failgraph.traces.spans import SpanRecord

_HTML_STARTS = (b"<!doctype", b"<html")


class NoTraceError(SourceError):
    """A file was read to its end and contains no trace.

    Attributes:
        problem: The name of the file and what it contains instead, without advice.
    """

    def __init__(self, name: str, summary: SourceSummary) -> None:
        self.problem = f"{name}: {summary.no_trace_reason()}"
        super().__init__(f"{name}: {summary.no_trace_text()}")


def read_pass(
    source: SourceFile,
    summary: SourceSummary,
    plan: ReadPlan = READ_ALL,
    progress: Progress | None = None,
    journal_ids: JournalIds | None = None,
) -> Iterator[SpanRecord]:
    """Yield the spans of a file that the plan asks for.

    Args:
        source: The file; it is read from its beginning.
        summary: Receives counts and losses. Complete once the iteration has ended.
        plan: Which spans to read in full.
        progress: Called with the number of bytes read and their total, or None.
        journal_ids: The ids of journal lines in the files before, or None if there are none.

    Raises:
        SourceError: If the file has an unsupported compression.
        NoTraceError: If it contains no trace.
    """
    try:
        for span in _spans(source, summary, plan, progress, journal_ids):
            summary.spans += 1
            yield span
    except GZIP_ERRORS:
        summary.is_damaged_gzip = True
        summary.add_bad_line("the gzip data is damaged, or ends early")
    summary.close()
    if not summary.spans:
        raise NoTraceError(source.name, summary)


def is_html(head: bytes) -> bool:
    """Return True if a file that begins so is an HTML page."""
    return head.lstrip()[:9].lower().startswith(_HTML_STARTS)


def _spans(
    source: SourceFile,
    summary: SourceSummary,
    plan: ReadPlan,
    progress: Progress | None,
    journal_ids: JournalIds | None,
) -> Iterator[SpanRecord]:
    head = decompressed(source).read(HEAD_SIZE)
    stream = decompressed(source, progress)
    summary.is_html = is_html(head)
    if looks_like_protobuf(head):
        summary.is_protobuf = True
        yield from protobuf_spans(stream, head, summary, plan)
        return
    reader = DocumentReader(summary, plan.trace_ids, journal_ids)
    for line, document in json_documents(stream, summary, plan):
        if isinstance(document, SkimmedDocument) and plan.on_skipped is not None:
            summary.spans += document.skipped
            plan.on_skipped(document.skipped_times)
        yield from reader.spans(document, line)
