"""Read failures back from bytes: OTLP, Jaeger, Tempo, journals and saved rows. Needs no SDK.

`spans(source)` streams every span. `read(source)` returns the traces that hold failures, in two
passes over the source: memory grows with the number of traces and with the spans of failing traces,
not with the size of the file.
"""

from __future__ import annotations

from failgraph.readers.reading import Reading, read
from failgraph.readers.span_reader import spans
from failgraph.traces.failures import FailureRecord
from failgraph.traces.graphs import Trace
from failgraph.traces.hops import HopRecord
from failgraph.traces.spans import EventRecord, SpanRecord

__all__ = [
    "EventRecord",
    "FailureRecord",
    "HopRecord",
    "Reading",
    "SpanRecord",
    "Trace",
    "read",
    "spans",
]
