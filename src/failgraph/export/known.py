"""Keys that tell what a file already has, so that an export adds nothing twice."""

from __future__ import annotations

from collections.abc import Iterator

from failgraph import semconv
from failgraph.codec.attributes import read_text
from failgraph.export.inputs import FailureInput, SavedAttempt
from failgraph.export.otlp_documents import SpanGroup
from failgraph.readers.json_values import DocumentContext
from failgraph.readers.otlp_json import otlp_spans
from failgraph.readers.row_spans import SPAN_NAME
from failgraph.readers.summary import SourceSummary
from failgraph.traces.spans import SpanRecord


def key_of_input(item: FailureInput) -> bytes:
    """Return the key of an attempt (16 bytes of its digest) or of a journal's failure."""
    if isinstance(item, SavedAttempt):
        return item.attempt.digest[:16]
    return _failure_key(item.ids.trace_id, item.line.event.event_id, remote=item.line.remote)


def keys_of_span(span: SpanRecord) -> Iterator[bytes]:
    """Yield the keys of the attempt and the failures on a span of the file."""
    if span.is_row:
        yield bytes.fromhex(span.trace_id)
    for event in span.events:
        event_id = read_text(event.attributes, semconv.ID)
        if event_id is not None:
            yield _failure_key(span.trace_id, event_id, remote=True)
            # A peer's copy may have less, so a copy does not stand for the observer's own record.
            if event.attributes.get(semconv.REMOTE) is not True:
                yield _failure_key(span.trace_id, event_id, remote=False)


def keys_of_group(group: SpanGroup) -> Iterator[bytes]:
    """Yield the keys of exported spans. Those without an event are skipped, to save time."""
    spans = [span for span in group.spans if "events" in span or span.get("name") == SPAN_NAME]
    context = DocumentContext(0, SourceSummary())
    for span in otlp_spans(group._replace(spans=spans).document(), context):
        yield from keys_of_span(span)


def _failure_key(trace_id: str, event_id: str, *, remote: bool) -> bytes:
    return b"%s %s %d" % (trace_id.encode(), event_id.encode("utf-8", "surrogatepass"), remote)
