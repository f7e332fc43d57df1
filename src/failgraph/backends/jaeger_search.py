"""What Jaeger is asked in a search, and the traces in its responses.

A search needs a service and compares tags, also those of events, for equality. So it takes one
search per service and per attribute that a failure has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from failgraph import semconv
from failgraph.backends.trace_ids import padded_trace_id
from failgraph.failure.boundary import FailureBoundary
from failgraph.readers.json_values import non_negative
from failgraph.traces.query import Query

Tags = Mapping[str, str]

_HOP: Tags = {semconv.REPORT_SCHEMA_VERSION: str(semconv.SCHEMA_VERSION)}
_BOUNDARIES = [boundary.value for boundary in FailureBoundary]


class TraceHit(NamedTuple):
    """A trace that a search found.

    Attributes:
        trace_id: 32 hex digits.
        start: In ns since the epoch, 0 if unknown.
        end: In ns since the epoch, 0 if unknown.
        services: The services that have spans in it.
    """

    trace_id: str
    start: int
    end: int
    services: frozenset[str]

    @property
    def duration_nano(self) -> int | None:
        """The duration, or None if the times say nothing."""
        return self.end - self.start if 0 < self.start <= self.end else None


def searched_tags(query: Query) -> Iterator[Tags]:
    """Yield the tags to search for, which together find every trace that matches."""
    if query.rollout_id is not None:
        yield {semconv.ROLLOUT_ID: query.rollout_id}
        return
    if not query.kinds and not query.boundaries:
        yield _HOP
    if query.kinds and query.boundaries:
        for kind in query.kinds:
            for boundary in query.boundaries:
                yield {semconv.KIND: kind, semconv.BOUNDARY: boundary}
    elif query.kinds:
        yield from ({semconv.KIND: kind} for kind in query.kinds)
    else:
        yield from ({semconv.BOUNDARY: boundary} for boundary in query.boundaries or _BOUNDARIES)


def v1_hits(document: Mapping[str, Any]) -> Iterator[TraceHit]:
    """Yield the traces of a response of the v1 API, which holds whole traces."""
    for trace in list_of(document, "data"):
        trace_id = padded_trace_id(trace.get("traceID")) if isinstance(trace, dict) else None
        if trace_id is None:
            continue
        starts, ends = [], []
        for span in list_of(trace, "spans"):
            if isinstance(span, dict):
                start = 1000 * non_negative(span.get("startTime"))  # µs, as is the duration
                starts.append(start)
                ends.append(start + 1000 * non_negative(span.get("duration")))
        processes = trace.get("processes")
        services = processes.values() if isinstance(processes, dict) else ()
        yield TraceHit(
            trace_id,
            min(filter(None, starts), default=0),
            max(ends, default=0),
            _names(services, "serviceName"),
        )


def v3_hits(document: Mapping[str, Any]) -> Iterator[TraceHit]:
    """Yield the traces of a response of the v3 API, which holds summaries."""
    for summary in list_of(document, "summaries"):
        trace_id = padded_trace_id(summary.get("traceId")) if isinstance(summary, dict) else None
        if trace_id is not None:
            yield TraceHit(
                trace_id,
                non_negative(summary.get("minStartTimeUnixNano")),
                non_negative(summary.get("maxEndTimeUnixNano")),
                _names(list_of(summary, "services"), "name"),
            )


def list_of(document: Mapping[str, Any], *keys: str) -> list[Any]:
    """Return the list under the first of `keys` that is present, or an empty list."""
    value = next((document[key] for key in keys if key in document), None)
    return value if isinstance(value, list) else []


def rfc3339(nano: int) -> str:
    """Return a time in ns since the epoch as RFC 3339 to the µs, in UTC."""
    seconds, fraction = divmod(nano, 1_000_000_000)
    return (
        f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{fraction // 1000:06}Z"
    )


def _names(items: Iterable[object], key: str) -> frozenset[str]:
    values = (item.get(key) for item in items if isinstance(item, dict))
    return frozenset(value for value in values if isinstance(value, str))
