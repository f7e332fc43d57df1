"""What a file has already, so that an import adds nothing twice: attempts by trace, failures by trace and event."""

from __future__ import annotations

from collections.abc import Iterator

from failgraph import semconv
from failgraph.codec.attributes import read_text
from failgraph.export.inputs import Kept, Saved
from failgraph.traces.spans import SpanRecord


def key_of(found: Saved | Kept) -> bytes:
    """What an attempt, or a failure of a journal, is known by."""
    if isinstance(found, Saved):
        return found.attempt.digest[:16]
    return _key(found.place.trace_id, found.line.event.event_id, remote=found.line.remote)


def keys_in(span: SpanRecord) -> Iterator[bytes]:
    """The keys of what a span of the file holds."""
    if span.is_row:
        yield bytes.fromhex(span.trace_id)
    for event in span.events:
        event_id = read_text(event.attributes, semconv.ID)
        if event_id is not None:
            yield _key(span.trace_id, event_id, remote=True)
            # The observer's own record is more than the copy that a peer passed on.
            if event.attributes.get(semconv.REMOTE) is not True:
                yield _key(span.trace_id, event_id, remote=False)


def _key(trace_id: str, event_id: str, *, remote: bool) -> bytes:
    return b"%s %s %d" % (trace_id.encode(), event_id.encode("utf-8", "surrogatepass"), remote)
