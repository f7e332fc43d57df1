"""Tempo over HTTP: protobuf of v2, else of v1, for a trace; TraceQL to search."""

from __future__ import annotations

import json
import re

from failgraph import semconv
from failgraph.backends import refusals
from failgraph.backends.client import PROTOBUF, Answer, Client
from failgraph.backends.empty_responses import is_empty
from failgraph.backends.windows import Found, Page, newest
from failgraph.readers.json_values import non_negative
from failgraph.readers.protobuf_messages import looks_like_protobuf
from failgraph.text import escape_surrogates
from failgraph.traces.query import Query

_PAGE = 100
_SECOND = 1_000_000_000
"""Nanoseconds; a search knows no parts of it."""
_MS = 1_000_000
_TRACE_ID = re.compile(r"[0-9a-fA-F]{1,32}")


class Tempo:
    """Asks a Tempo; which of its APIs it has is found out once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._has_v2 = True

    def trace(self, trace_id: str) -> Answer | None:
        """A trace; None where Tempo does not have it, or not yet."""
        if self._has_v2:
            answer = self._client.get(f"/api/v2/traces/{trace_id}", accept=PROTOBUF)
            if answer.status == 200 and not answer.is_page:
                return self._given(answer)
            self._has_v2 = not answer.is_page and not _no_route(answer)
        answer = self._client.get(f"/api/traces/{trace_id}", accept=PROTOBUF)
        if answer.status == 200:
            return self._given(answer)
        if _no_route(answer) and not self._has_v2:
            raise refusals.refused(self._client.place, 404, answer.head)
        return None

    def failing(self, query: Query, since: int, until: int, limit: int) -> Found:
        """The newest traces that may be what is asked for, between two times in ns."""
        asked = traceql(query)

        def search(start: int, end: int) -> Page:
            found = self._search(asked, start // _SECOND, -(-end // _SECOND))
            return Page(
                {trace_id: began for trace_id, (began, _) in found.items()}, len(found) >= _PAGE
            )

        return newest(search, since, until, limit, _SECOND)

    def durations(self, since: int, until: int, limit: int) -> dict[str, int | None] | None:
        """Of all traces between two times, in ns to the ms; None where there are more than `limit`."""
        lengths: dict[str, int | None] = {}

        def search(start: int, end: int) -> Page:
            found = self._search("{ }", start // _SECOND, -(-end // _SECOND))
            lengths.update((trace_id, took) for trace_id, (_, took) in found.items())
            return Page(
                {trace_id: began for trace_id, (began, _) in found.items()}, len(found) >= _PAGE
            )

        every = newest(search, since, until, limit, _SECOND)
        return (
            None
            if every.more or every.crowded
            else {trace_id: lengths[trace_id] for trace_id in every.trace_ids}
        )

    def _search(self, asked: str, start: int, end: int) -> dict[str, tuple[int, int]]:
        """Start and duration of each trace that is found, in ns, by its id; 0 where unknown."""
        of_time: dict[str, str | int] = {
            "q": asked,
            "start": start,
            "end": max(end, start + 1),
            "limit": _PAGE,
            "spss": 1,
        }
        answer = self._client.get("/api/search", of_time, allowed=())
        document = answer.document()
        if answer.is_page:
            raise refusals.a_page(self._client.place)
        if not isinstance(document, dict) or not document.keys() & {"traces", "metrics"}:
            raise refusals.other_product(self._client.place)
        traces = document.get("traces")
        found = (
            [item for item in traces if isinstance(item, dict)] if isinstance(traces, list) else []
        )
        return {
            id_.lower().zfill(32): (
                non_negative(item.get("startTimeUnixNano")),
                _MS * non_negative(item.get("durationMs")),
            )
            for item in found
            if isinstance(id_ := item.get("traceID"), str) and _TRACE_ID.fullmatch(id_)
        }

    def _given(self, answer: Answer) -> Answer | None:
        if answer.is_page:
            raise refusals.a_page(self._client.place)
        if answer.size and not answer.is_json and not looks_like_protobuf(answer.head):
            raise refusals.other_product(self._client.place)
        return None if is_empty(answer) else answer


def traceql(query: Query) -> str:
    """The search for the traces that may match: all that do are among them."""
    if query.rollout_id is not None:
        return f"{{ span.{semconv.ROLLOUT_ID} = {_quoted(query.rollout_id)} }}"
    of_event = [f'event:name = "{semconv.EVENT_NAME}"']
    for key, values in ((semconv.KIND, query.kinds), (semconv.BOUNDARY, query.boundaries)):
        one_of = " || ".join(f"event.{key} = {_quoted(value)}" for value in sorted(values))
        of_event += [f"({one_of})"] if len(values) > 1 else [one_of] if values else []
    events = f"{{ {' && '.join(of_event)} }}"
    if query.services:
        one_of = " || ".join(
            f"resource.service.name = {_quoted(name)}" for name in sorted(query.services)
        )
        return f"{events} && {{ {one_of} }}"
    hops = f"{{ span.{semconv.REPORT_SCHEMA_VERSION} = {semconv.SCHEMA_VERSION} }}"
    return events if query.kinds or query.boundaries else f"{events} || {hops}"


def _quoted(text: str) -> str:
    """A string of TraceQL, which are Go's: JSON's escapes but those of half characters."""
    return json.dumps(escape_surrogates(text), ensure_ascii=False)


def _no_route(answer: Answer) -> bool:
    """Whether it is what a server says that has nothing at such a path."""
    return answer.status == 404 and answer.head.lower().startswith(b"404 page not found")
