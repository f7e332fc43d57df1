"""Tempo over HTTP: protobuf of v2, else of v1, for a trace; TraceQL to search."""

from __future__ import annotations

import json
from typing import NamedTuple

from failgraph import semconv
from failgraph.backends import request_errors
from failgraph.backends.client import PROTOBUF, Client
from failgraph.backends.empty_responses import is_empty
from failgraph.backends.response import Response
from failgraph.backends.search_windows import SearchPage, SearchResult, newest_traces
from failgraph.backends.trace_ids import padded_trace_id
from failgraph.readers.json_values import non_negative
from failgraph.readers.protobuf_messages import looks_like_protobuf
from failgraph.text import escape_surrogates
from failgraph.traces.query import Query

_PAGE = 100  # traces in a response
_NS_PER_SECOND = 1_000_000_000
_NS_PER_MS = 1_000_000
_SMALLEST_WINDOW = _NS_PER_SECOND  # a search knows no parts of a second
_EVERY_TRACE = "{ }"


class _Times(NamedTuple):
    """Start and duration of a trace in ns; 0 if unknown."""

    start: int
    duration: int


class Tempo:
    """A Tempo; which of its APIs it has is found out once."""

    search_delay: str | None = "Tempo's search finds new traces only after some seconds"

    def __init__(self, client: Client) -> None:
        self._client = client
        self._has_v2 = True

    def trace(self, trace_id: str) -> Response | None:
        """Return a response that holds the trace, or None if Tempo does not have it."""
        if self._has_v2:
            response = self._client.get(f"/api/v2/traces/{trace_id}", accept=PROTOBUF)
            if response.status == 200 and not response.is_html:
                return self._checked(response)
            self._has_v2 = not response.is_html and not _is_unknown_path(response)
        response = self._client.get(f"/api/traces/{trace_id}", accept=PROTOBUF)
        if response.status == 200:
            return self._checked(response)
        if _is_unknown_path(response) and not self._has_v2:
            raise request_errors.status_error(self._client.location, 404, response.head)
        return None

    def search(self, query: Query, since: int, until: int, limit: int) -> SearchResult:
        """Return the newest traces that may match a query; see `Backend.search`."""
        expression = traceql(query)

        def search(start: int, end: int) -> SearchPage:
            return _page(self._search(expression, start, end))

        return newest_traces(search, since, until, limit, _SMALLEST_WINDOW)

    def durations(self, since: int, until: int, limit: int) -> dict[str, int | None] | None:
        """Return the durations of all traces between two times, to the ms."""
        durations: dict[str, int | None] = {}

        def search(start: int, end: int) -> SearchPage:
            times = self._search(_EVERY_TRACE, start, end)
            durations.update((trace_id, each.duration) for trace_id, each in times.items())
            return _page(times)

        result = newest_traces(search, since, until, limit, _SMALLEST_WINDOW)
        if result.has_older or result.is_truncated:
            return None
        return {trace_id: durations[trace_id] for trace_id in result.trace_ids}

    def _search(self, expression: str, start: int, end: int) -> dict[str, _Times]:
        """Return the traces that one search finds between two times in ns, by trace id."""
        start_second = start // _NS_PER_SECOND
        end_second = -(-end // _NS_PER_SECOND)
        fields: dict[str, str | int] = {
            "q": expression,
            "start": start_second,
            "end": max(end_second, start_second + 1),
            "limit": _PAGE,
            "spss": 1,
        }
        response = self._client.get("/api/search", fields, allowed=())
        document = response.document()
        if response.is_html:
            raise request_errors.html_page_error(self._client.location)
        if not isinstance(document, dict) or not document.keys() & {"traces", "metrics"}:
            raise request_errors.unexpected_data_error(self._client.location)
        traces = document.get("traces")
        found: dict[str, _Times] = {}
        for trace in traces if isinstance(traces, list) else ():
            trace_id = padded_trace_id(trace.get("traceID")) if isinstance(trace, dict) else None
            if trace_id is not None:
                start_nano = non_negative(trace.get("startTimeUnixNano"))
                found[trace_id] = _Times(
                    start_nano, _NS_PER_MS * non_negative(trace.get("durationMs"))
                )
        return found

    def _checked(self, response: Response) -> Response | None:
        """Return a response of status 200 that holds a trace, or None if it is empty."""
        if response.is_html:
            raise request_errors.html_page_error(self._client.location)
        if response.size and not response.is_json and not looks_like_protobuf(response.head):
            raise request_errors.unexpected_data_error(self._client.location)
        return None if is_empty(response) else response


def _page(times: dict[str, _Times]) -> SearchPage:
    starts = {trace_id: each.start for trace_id, each in times.items()}
    return SearchPage(starts, is_full=len(times) >= _PAGE)


def traceql(query: Query) -> str:
    """Return the TraceQL search that finds every trace that matches, and perhaps others."""
    if query.rollout_id is not None:
        return f"{{ span.{semconv.ROLLOUT_ID} = {_quoted(query.rollout_id)} }}"
    conditions = [f'event:name = "{semconv.EVENT_NAME}"']
    conditions += _one_of(f"event.{semconv.KIND}", query.kinds)
    conditions += _one_of(f"event.{semconv.BOUNDARY}", query.boundaries)
    events = f"{{ {' && '.join(conditions)} }}"
    if query.services:
        service = " || ".join(_equalities("resource.service.name", query.services))
        return f"{events} && {{ {service} }}"
    if query.kinds or query.boundaries:
        return events
    return f"{events} || {{ span.{semconv.REPORT_SCHEMA_VERSION} = {semconv.SCHEMA_VERSION} }}"


def _one_of(field: str, values: frozenset[str]) -> list[str]:
    """Return the condition that a field has one of some values; none if there are no values."""
    equalities = _equalities(field, values)
    return [f"({' || '.join(equalities)})"] if len(equalities) > 1 else equalities


def _equalities(field: str, values: frozenset[str]) -> list[str]:
    return [f"{field} = {_quoted(value)}" for value in sorted(values)]


def _quoted(text: str) -> str:
    """Return a string literal of TraceQL, which is Go's: JSON's without escapes of surrogates."""
    return json.dumps(escape_surrogates(text), ensure_ascii=False)


def _is_unknown_path(response: Response) -> bool:
    """Return True if the server has nothing at this path; a 404 of Tempo's own has other words."""
    return response.status == 404 and response.head.lower().startswith(b"404 page not found")
