"""The trace that a page of Grafana shows, from the page's URL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple, cast
from urllib.parse import SplitResult, parse_qs

from failgraph.backends.backend_settings import BackendKind
from failgraph.backends.trace_ids import whole_trace_id
from failgraph.errors import SourceError

_MAX_QUERY_FIELDS = 200
_ID_FIELDS = ("traceId", "traceID")
_JSON_FIELDS = ("panes", "left", "right")


class GrafanaTrace(NamedTuple):
    """A trace that a page shows, and the kind of its data source."""

    kind: BackendKind
    trace_id: str


class _Candidate(NamedTuple):
    """A text of the URL that may be a trace id, and what names its data source."""

    data_source: object
    text: str


def grafana_trace(page: SplitResult) -> GrafanaTrace:
    """Return the one trace that a page shows.

    Raises:
        SourceError: The URL names no trace, or several.
    """
    traces = {
        GrafanaTrace(_backend_kind(candidate.data_source), trace_id)
        for candidate in _candidates(_query_fields(page))
        if (trace_id := whole_trace_id(candidate.text)) is not None
    }
    if len(traces) != 1:
        what = "names no trace" if not traces else f"names {len(traces)} traces"
        raise SourceError(
            f"the URL of the Grafana page {what}; open one trace there, or run"
            ' "failgraph show tempo TRACE_ID"'
        )
    return traces.pop()


def _query_fields(page: SplitResult) -> dict[str, list[str]]:
    try:
        return parse_qs(page.query, max_num_fields=_MAX_QUERY_FIELDS)
    except ValueError:
        return {}


def _backend_kind(data_source: object) -> BackendKind:
    return "jaeger" if "jaeger" in json.dumps(data_source, default=str).lower() else "tempo"


def _candidates(fields: dict[str, list[str]]) -> Iterator[_Candidate]:
    for name in _ID_FIELDS:
        for value in fields.get(name, ()):
            yield _Candidate("tempo", value.strip())
    for name in _JSON_FIELDS:
        for value in fields.get(name, ()):
            yield from _queries(_parse_json(value), "")


def _parse_json(text: str) -> object:
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return None


def _queries(value: object, data_source: object) -> Iterator[_Candidate]:
    """Yield the queries anywhere in `value`, each with the nearest data source around it."""
    if isinstance(value, dict):
        data_source = value.get("datasource", data_source)
        query = value.get("query")
        if isinstance(query, str):
            yield _Candidate(data_source, query.strip())
        for item in value.values():
            yield from _queries(item, data_source)
    elif isinstance(value, list):
        for item in value:
            yield from _queries(item, data_source)
