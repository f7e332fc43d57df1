"""Jaeger over HTTP: v3 for a trace, since it keeps more; v1 to search, since v3 did not before 2.19; each where it is.

A search wants a service and compares tags exactly, those of events too, so it takes one for each service and each
attribute that a failure has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from failgraph import semconv
from failgraph.backends import refusals
from failgraph.backends.client import Answer, Client
from failgraph.backends.empty_responses import is_empty
from failgraph.backends.refusals import TooLargeError
from failgraph.backends.windows import Found, Page, length, newest
from failgraph.failure.boundary import FailureBoundary
from failgraph.readers.json_values import non_negative
from failgraph.traces.query import Query

_PAGE = 50
"""Traces in an answer: v1 gives each of them as a whole."""
_SMALLEST = 1000
"""Nanoseconds of a window that is not divided any more: v1 knows no parts of a microsecond."""
_TRACE_ID = re.compile(r"[0-9a-fA-F]{1,32}")
_HOP = {semconv.REPORT_SCHEMA_VERSION: str(semconv.SCHEMA_VERSION)}
_BOUNDARIES = [boundary.value for boundary in FailureBoundary]

Tags = Mapping[str, str]


class _Hit(NamedTuple):
    """A trace that a search found."""

    trace_id: str
    start: int
    end: int
    services: frozenset[str]


class Jaeger:
    """Asks a Jaeger; which of its APIs it has is found out once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._has_v3 = True
        self._has_v1_search = True

    def trace(self, trace_id: str) -> Answer | None:
        """A trace; None where Jaeger does not have it, or not yet."""
        if self._has_v3:
            answer = self._client.get(f"/api/v3/traces/{trace_id}")
            if answer.is_json and (answer.status == 200 or _says_why(answer)):
                return None if answer.status == 404 or is_empty(answer) else answer
            self._has_v3 = (
                False  # the page of its user interface, or nothing, is what is there instead
            )
        answer = self._client.get(f"/api/traces/{trace_id}")
        if answer.is_json:
            return None if answer.status == 404 or is_empty(answer) else answer
        raise _not_jaeger(self._client, answer)

    def failing(self, query: Query, since: int, until: int, limit: int) -> Found:
        """The newest traces that may be what is asked for, between two times in ns."""
        services, asked = self._services(), list(searches(query))
        if query.services and query.services.isdisjoint(services):
            return Found([], more=False, crowded=False)

        def search(start: int, end: int) -> Page:
            starts: dict[str, int] = {}
            for service in services:
                for tags in asked:
                    page = self._page(service, tags, start, end, query.services)
                    starts.update(page.starts)
                    if page.full:
                        return Page(starts, full=True)
            return Page(starts, full=False)

        return newest(search, since, until, limit, _SMALLEST)

    def durations(self, since: int, until: int, limit: int) -> dict[str, int | None] | None:
        """Of all traces between two times, in ns, None where unknown; None where there are more than `limit`."""
        services = self._services()
        found: dict[str, int | None] = {}

        def search(start: int, end: int) -> Page:
            starts: dict[str, int] = {}
            for service in services:
                hits = self._hits(service, {}, start, end)
                starts.update((hit.trace_id, hit.start) for hit in hits or ())
                found.update((hit.trace_id, length(hit.start, hit.end)) for hit in hits or ())
                if hits is None or len(hits) >= _PAGE:
                    return Page(starts, full=True)
            return Page(starts, full=False)

        every = newest(search, since, until, limit, _SMALLEST)
        return (
            None
            if every.more or every.crowded
            else {trace_id: found[trace_id] for trace_id in every.trace_ids}
        )

    def _services(self) -> list[str]:
        answer = self._client.get("/api/v3/services")
        document = answer.document() if answer.status == 200 else None
        if not isinstance(document, dict) or "services" not in document:
            answer = self._client.get("/api/services")
            document = answer.document() if answer.status == 200 else None
        if not isinstance(document, dict) or not document.keys() & {"services", "data"}:
            raise _not_jaeger(self._client, answer)
        return sorted(
            {name for name in _list(document, "services", "data") if isinstance(name, str)}
        )

    def _page(
        self, service: str, tags: Tags, start: int, end: int, through: frozenset[str]
    ) -> Page:
        """What one search gives; of that the traces that go through one of some services, where it is any."""
        found = self._hits(service, tags, start, end)
        if found is None:
            return Page({}, full=True)
        wanted = {
            each.trace_id: each.start
            for each in found
            if not through or not through.isdisjoint(each.services)
        }
        return Page(wanted, len(found) >= _PAGE)

    def _hits(self, service: str, tags: Tags, start: int, end: int) -> list[_Hit] | None:
        """What one search gives; None where that is too large, and a smaller window may do."""
        try:
            found = self._v1_search(service, tags, start, end) if self._has_v1_search else None
            if found is None:
                self._has_v1_search = False
                found = self._v3_search(service, tags, start, end)
        except TooLargeError:
            if end - start <= _SMALLEST:
                raise
            return None
        return found

    def _v1_search(self, service: str, tags: Tags, start: int, end: int) -> list[_Hit] | None:
        """Whole traces; None where there is no such search."""
        fields: dict[str, str | int] = {
            "service": service,
            "tags": json.dumps(tags),
            "start": start // 1000,
            "end": -(-end // 1000),
            "limit": _PAGE,
        }
        document = self._client.get("/api/traces", fields).document()
        if not isinstance(document, dict) or "data" not in document:
            return None
        return list(_v1_hits(_list(document, "data")))

    def _v3_search(self, service: str, tags: Tags, start: int, end: int) -> list[_Hit]:
        fields: dict[str, str | int] = {
            "query.service_name": service,
            "query.attributes": json.dumps(tags),
            "query.start_time_min": _rfc3339(start),
            "query.start_time_max": _rfc3339(end + 999),
            "query.search_depth": _PAGE,
        }
        answer = self._client.get("/api/v3/trace-summaries", fields)
        document = answer.document()
        if not isinstance(document, dict):
            raise _not_jaeger(self._client, answer)
        return list(_v3_hits(_list(document, "summaries")))


def searches(query: Query) -> Iterator[Tags]:
    """The tags by which to search: what they find together holds all that matches."""
    if query.rollout_id is not None:
        yield {semconv.ROLLOUT_ID: query.rollout_id}
        return
    if not query.kinds and not query.boundaries:
        yield _HOP
    if query.kinds and query.boundaries:
        yield from (
            {semconv.KIND: kind, semconv.BOUNDARY: at}
            for kind in query.kinds
            for at in query.boundaries
        )
    elif query.kinds:
        yield from ({semconv.KIND: kind} for kind in query.kinds)
    else:
        yield from ({semconv.BOUNDARY: at} for at in query.boundaries or _BOUNDARIES)


def _v1_hits(traces: Iterable[object]) -> Iterator[_Hit]:
    for trace in traces:
        if isinstance(trace, dict) and (id_ := _id(trace.get("traceID"))) is not None:
            spans = [span for span in _list(trace, "spans") if isinstance(span, dict)]
            starts = [1000 * non_negative(span.get("startTime")) for span in spans]
            ends = (
                start + 1000 * non_negative(span.get("duration"))
                for span, start in zip(spans, starts, strict=True)
            )
            processes = trace.get("processes")
            each = processes.values() if isinstance(processes, dict) else ()
            yield _Hit(
                id_,
                min(filter(None, starts), default=0),
                max(ends, default=0),
                _names(each, "serviceName"),
            )


def _v3_hits(summaries: Iterable[object]) -> Iterator[_Hit]:
    for summary in summaries:
        if isinstance(summary, dict) and (id_ := _id(summary.get("traceId"))) is not None:
            start, end = (
                non_negative(summary.get(key))
                for key in ("minStartTimeUnixNano", "maxEndTimeUnixNano")
            )
            yield _Hit(id_, start, end, _names(_list(summary, "services"), "name"))


def _names(items: Iterable[object], key: str) -> frozenset[str]:
    return frozenset(
        name for item in items if isinstance(item, dict) and isinstance(name := item.get(key), str)
    )


def _id(value: object) -> str | None:
    return (
        value.lower().zfill(32) if isinstance(value, str) and _TRACE_ID.fullmatch(value) else None
    )


def _list(document: Mapping[str, Any], *keys: str) -> list[Any]:
    found = next((document[key] for key in keys if key in document), None)
    return found if isinstance(found, list) else []


def _rfc3339(nano: int) -> str:
    when = datetime.fromtimestamp(nano // 1_000_000_000, timezone.utc)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{nano % 1_000_000_000 // 1000:06}Z"


def _says_why(answer: Answer) -> bool:
    """Whether it is Jaeger that says that it has no such trace, and no gateway that it has no such path."""
    document = answer.document()
    return isinstance(document, dict) and bool(document.keys() & {"error", "errors"})


def _not_jaeger(client: Client, answer: Answer) -> Exception:
    if answer.is_page:
        return refusals.a_page(client.place)
    if answer.status == 404 and not answer.is_json:
        return refusals.refused(client.place, 404, answer.head)
    return refusals.other_product(client.place)
