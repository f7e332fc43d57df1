"""Skim OTLP JSON as exporters write it: of spans that are not needed, only ids and times are read.

Decoding with msgspec checks skipped spans as strictly as reading them would. Without msgspec, and
for documents of any other form, everything is read in full, with the same result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from itertools import compress
from operator import not_
from typing import NamedTuple

from failgraph.readers.skimming.single_spans import (
    FIRST_ID,
    GYM_PREFIX,
    SPAN_START,
    LineFrames,
    SkimmedLines,
    check_first_ids,
    first_trace_id,
    has_escapes,
    has_warnings,
    lines_of_traces,
)
from failgraph.readers.skimming.typed_json import (
    JsonDecoders,
    ResourceSpans,
    SpanTimes,
    json_decoders,
    select_spans,
    span_times,
)

Parse = Callable[[bytes], object]
"""Parses one JSON document. Raises ValueError if it is invalid, RecursionError if too deep."""

_TRACE_ID_TAG, _TRACE_ID = b"\x0a\x10", slice(2, 18)  # at the beginning of a protobuf span
_HEX = re.compile("[0-9a-f]{32}")


def _select_all(spans: Sequence[bytes]) -> Sequence[bool]:
    return [True] * len(spans)


class ReadPlan(NamedTuple):
    """Which spans a pass reads in full.

    Attributes:
        parse: Parses a JSON document, perhaps only in part.
        select: For each of several OTLP protobuf spans, True to read it in full.
        on_skipped: Called with the spans that are not, or None to ignore them.
        trace_ids: The wanted traces, or None for all.
        skim_lines: Skims several lines of JSON at once, or None to parse each one. Raises
            ValueError if it cannot skim these lines.
    """

    parse: Parse = json.loads
    select: Callable[[Sequence[bytes]], Sequence[bool]] = _select_all
    on_skipped: Callable[[Iterable[SpanTimes]], None] | None = None
    trace_ids: Container[str] | None = None
    skim_lines: Callable[[Sequence[bytes]], SkimmedLines] | None = None


READ_ALL = ReadPlan()


class SkimmedDocument(NamedTuple):
    """One or more documents that were read only in part.

    Attributes:
        skipped: Number of skipped spans.
        skipped_times: The skipped spans.
        unskimmed: The spans that are needed in full, parsed.
        documents: Number of documents that this stands for.
    """

    skipped: int
    skipped_times: Iterable[SpanTimes]
    unskimmed: Sequence[ResourceSpans]
    documents: int = 1


_NOTHING = SkimmedDocument(0, (), ())


class Skimmer:
    """Plan the two passes over one source. The second uses what the first has learned."""

    def __init__(self) -> None:
        self._decoders = json_decoders()
        self._frames = None if self._decoders is None else LineFrames(self._decoders)
        # So far the decoders accepted every document, and each had a single span.
        self._all_decoded = self._all_single = True

    def first_pass(self, on_skipped: Callable[[Iterable[SpanTimes]], None]) -> ReadPlan:
        """Return a plan that reads in full only the spans that failgraph wrote to."""
        return ReadPlan(
            parse=self._parse,
            select=lambda spans: [
                GYM_PREFIX in span or span[:2] != _TRACE_ID_TAG for span in spans
            ],
            on_skipped=on_skipped,
            skim_lines=None if self._frames is None else self._frames.skim,
        )

    def _parse(self, line: bytes) -> object:
        """Parse a document, in full only where necessary. Raises as `json.loads` does."""
        decoders = self._decoders
        if decoders is not None and not has_escapes(line):
            try:
                return self._skim(line, decoders)
            except (ValueError, RecursionError):  # another form of document
                pass
        self._all_decoded = False
        return json.loads(line)

    def _skim(self, line: bytes, decoders: JsonDecoders) -> SkimmedDocument:
        spans = [
            span
            for resource_spans in decoders.document.decode(line).resource_spans
            for scope_spans in resource_spans.scope_spans
            for span in scope_spans.spans
        ]
        times = span_times(spans)
        raw = decoders.raw_spans(line)
        texts = [text for _, texts in raw for text in texts]
        check_first_ids(texts, spans)
        if self._all_single and self._frames is not None:
            self._all_single = len(spans) == 1 and first_trace_id(line) == texts[0][FIRST_ID]
            if self._all_single:
                self._frames.learn(line, texts[0])
        line_has_warnings = has_warnings(line)
        if not line_has_warnings and GYM_PREFIX not in line:
            return SkimmedDocument(len(spans), times, ())

        def is_wanted(text: bytes) -> bool:
            return GYM_PREFIX in text or (line_has_warnings and has_warnings(text))

        is_selected, resources = select_spans(raw, is_wanted)
        skipped = compress(times, map(not_, is_selected))
        return SkimmedDocument(is_selected.count(False), skipped, resources)

    def second_pass(self, trace_ids: Collection[str]) -> ReadPlan:
        """Return a plan that reads only spans of these traces, as far as that saves parsing."""
        binary_ids = set(map(bytes.fromhex, filter(_HEX.fullmatch, trace_ids)))
        text_ids = {trace_id.encode() for trace_id in trace_ids}
        decoders = self._decoders if self._all_decoded else None
        can_skim_lines = decoders is not None and self._all_single
        return ReadPlan(
            parse=json.loads if decoders is None else self._selecting_parse(decoders, text_ids),
            select=lambda spans: [
                span[_TRACE_ID] in binary_ids or span[:2] != _TRACE_ID_TAG for span in spans
            ],
            trace_ids=trace_ids,
            skim_lines=(lambda lines: SkimmedLines((), lines_of_traces(lines, text_ids)))
            if can_skim_lines
            else None,
        )

    def _selecting_parse(self, decoders: JsonDecoders, trace_ids: Container[bytes]) -> Parse:
        """Return a function that parses only the spans of these traces."""
        all_single = self._all_single

        def is_wanted(text: bytes) -> bool:
            return text[FIRST_ID] in trace_ids or not text.startswith(SPAN_START)

        def parse(line: bytes) -> object:
            if all_single and first_trace_id(line) not in trace_ids:
                return _NOTHING
            resources = select_spans(decoders.raw_spans(line), is_wanted).resources
            return SkimmedDocument(0, (), resources)

        return parse
