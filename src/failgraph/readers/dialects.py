"""A JSON document to spans, in whichever dialect: OTLP, what Jaeger and Tempo answer, journals, and Gym's rows."""

from __future__ import annotations

from collections.abc import Container, Iterator

from failgraph.journal.lines import is_journal_line, is_removed_note
from failgraph.readers.api_responses import answers, is_jaeger
from failgraph.readers.contents import BadLines
from failgraph.readers.jaeger_json import jaeger_spans
from failgraph.readers.journal_spans import journal_spans
from failgraph.readers.json_parts import At
from failgraph.readers.otlp_json import otlp_spans
from failgraph.readers.row_attempts import shape_of
from failgraph.readers.row_spans import row_spans
from failgraph.traces.spans import SpanRecord


def spans_of(
    document: object, line: int, bad: BadLines, trace_ids: Container[str] | None = None
) -> Iterator[SpanRecord]:
    """The spans of one document, or of a list of them; what of it is of the wrong type goes into `bad`.

    With `trace_ids` those of other traces may be left out.
    """
    at = At(line, bad, trace_ids)
    for answer in answers(document):
        bad.found.answered |= answer.wrapped
        for error in answer.errors:
            bad.found.refuse(error)
        empty = True
        for top in answer.tops:
            for span in _spans(top, at, jaeger=answer.jaeger):
                empty = False
                if answer.partial is not None:
                    bad.found.partial.setdefault(span.trace_id, answer.partial)
                yield span
        if empty and answer.partial is not None:
            bad.found.refuse(answer.partial)


def _spans(top: object, at: At, *, jaeger: bool) -> Iterator[SpanRecord]:
    fields = at.dict(top, "a document")
    if is_journal_line(top) or is_removed_note(top):
        return journal_spans(fields, at)
    if shape_of(top) is not None:
        return row_spans(fields, at)
    if jaeger and not is_jaeger(top):
        at.wrong("a trace without spans")
    return jaeger_spans(fields, at) if jaeger else otlp_spans(fields, at)
