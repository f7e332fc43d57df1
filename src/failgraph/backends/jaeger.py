"""Jaeger over HTTP: the v3 API for a trace, since it keeps more, and the v1 API to search.

v3 can only search from Jaeger 2.19 on. If a Jaeger lacks one API, the other is used.
"""

from __future__ import annotations

import json

from failgraph.backends import request_errors
from failgraph.backends.client import Client
from failgraph.backends.empty_responses import is_empty
from failgraph.backends.jaeger_search import (
    Tags,
    TraceHit,
    list_of,
    rfc3339,
    searched_tags,
    v1_hits,
    v3_hits,
)
from failgraph.backends.request_errors import TooLargeError
from failgraph.backends.response import Response
from failgraph.backends.search_windows import SearchPage, SearchResult, newest_traces
from failgraph.errors import SourceError
from failgraph.traces.query import Query

_PAGE = 50  # traces in a response: v1 returns each of them whole
_SMALLEST_WINDOW = 1000  # ns: v1 knows no parts of a microsecond


class Jaeger:
    """A Jaeger; which of its APIs it has is found out once."""

    search_delay: str | None = None

    def __init__(self, client: Client) -> None:
        self._client = client
        self._has_v3 = True
        self._has_v1_search = True

    def trace(self, trace_id: str) -> Response | None:
        """Return a response that holds the trace, or None if Jaeger does not have it."""
        if self._has_v3:
            response = self._client.get(f"/api/v3/traces/{trace_id}")
            if response.is_json and (response.status == 200 or _is_jaeger_error(response)):
                return _unless_empty(response)
            self._has_v3 = False  # the UI's page, or nothing, is there instead
        response = self._client.get(f"/api/traces/{trace_id}")
        if not response.is_json:
            raise self._not_jaeger(response)
        return _unless_empty(response)

    def search(self, query: Query, since: int, until: int, limit: int) -> SearchResult:
        """Return the newest traces that may match a query; see `Backend.search`."""
        services, searches = self._services(), list(searched_tags(query))
        if query.services and query.services.isdisjoint(services):
            return SearchResult([], has_older=False, is_truncated=False)

        def search(start: int, end: int) -> SearchPage:
            starts: dict[str, int] = {}
            for service in services:
                for tags in searches:
                    hits = self._hits(service, tags, start, end)
                    starts.update(
                        (hit.trace_id, hit.start)
                        for hit in hits or ()
                        if not query.services or query.services & hit.services
                    )
                    if _is_full(hits):
                        return SearchPage(starts, is_full=True)
            return SearchPage(starts, is_full=False)

        return newest_traces(search, since, until, limit, _SMALLEST_WINDOW)

    def durations(self, since: int, until: int, limit: int) -> dict[str, int | None] | None:
        """Return the durations of all traces between two times; see `Backend.durations`."""
        services = self._services()
        durations: dict[str, int | None] = {}

        def search(start: int, end: int) -> SearchPage:
            starts: dict[str, int] = {}
            for service in services:
                hits = self._hits(service, {}, start, end)
                for hit in hits or ():
                    starts[hit.trace_id] = hit.start
                    durations[hit.trace_id] = hit.duration_nano
                if _is_full(hits):
                    return SearchPage(starts, is_full=True)
            return SearchPage(starts, is_full=False)

        result = newest_traces(search, since, until, limit, _SMALLEST_WINDOW)
        if result.has_older or result.is_truncated:
            return None
        return {trace_id: durations[trace_id] for trace_id in result.trace_ids}

    def _services(self) -> list[str]:
        response = self._client.get("/api/v3/services")
        document = response.document() if response.status == 200 else None
        if not isinstance(document, dict) or "services" not in document:
            response = self._client.get("/api/services")
            document = response.document() if response.status == 200 else None
        if not isinstance(document, dict) or not document.keys() & {"services", "data"}:
            raise self._not_jaeger(response)
        names = list_of(document, "services", "data")
        return sorted({name for name in names if isinstance(name, str)})

    def _hits(self, service: str, tags: Tags, start: int, end: int) -> list[TraceHit] | None:
        """Return the traces of one search, or None if they are too large together.

        A smaller window may then do, so the error is raised for the smallest one only.
        """
        try:
            hits = self._v1_search(service, tags, start, end) if self._has_v1_search else None
            if hits is None:
                self._has_v1_search = False
                hits = self._v3_search(service, tags, start, end)
        except TooLargeError:
            if end - start <= _SMALLEST_WINDOW:
                raise
            return None
        return hits

    def _v1_search(self, service: str, tags: Tags, start: int, end: int) -> list[TraceHit] | None:
        """Return the traces of a search, or None if there is no such API."""
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
        return list(v1_hits(document))

    def _v3_search(self, service: str, tags: Tags, start: int, end: int) -> list[TraceHit]:
        fields: dict[str, str | int] = {
            "query.service_name": service,
            "query.attributes": json.dumps(tags),
            "query.start_time_min": rfc3339(start),
            "query.start_time_max": rfc3339(end + 999),
            "query.search_depth": _PAGE,
        }
        response = self._client.get("/api/v3/trace-summaries", fields)
        document = response.document()
        if not isinstance(document, dict):
            raise self._not_jaeger(response)
        return list(v3_hits(document))

    def _not_jaeger(self, response: Response) -> SourceError:
        location = self._client.location
        if response.is_html:
            return request_errors.html_page_error(location)
        if response.status == 404 and not response.is_json:
            return request_errors.status_error(location, 404, response.head)
        return request_errors.unexpected_data_error(location)


def _is_full(hits: list[TraceHit] | None) -> bool:
    return hits is None or len(hits) >= _PAGE


def _unless_empty(response: Response) -> Response | None:
    return None if response.status == 404 or is_empty(response) else response


def _is_jaeger_error(response: Response) -> bool:
    """Return True if Jaeger says that it has no such trace; a gateway lacks the path instead."""
    document = response.document()
    return isinstance(document, dict) and bool(document.keys() & {"error", "errors"})
