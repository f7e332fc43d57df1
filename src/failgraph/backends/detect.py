"""Find out by asking which backend a URL belongs to."""

from __future__ import annotations

from failgraph.backends import request_errors
from failgraph.backends.backend_settings import (
    BACKEND_KINDS,
    HEADERS_SETTINGS,
    URL_SETTINGS,
    BackendKind,
    configured_base,
)
from failgraph.backends.client import Client
from failgraph.backends.response import Response
from failgraph.backends.urls import display_url, origin
from failgraph.errors import SourceError
from failgraph.settings import Settings

_ANY_ERROR = frozenset(range(400, 600)) - {401, 403, 429, 503}
"""Statuses that some server returns for a path that it does not have."""


def probing_order(base: str, settings: Settings) -> list[BackendKind]:
    """Return the kinds to try, first one whose setting has the same origin."""
    return sorted(
        BACKEND_KINDS, key=lambda kind: origin(configured_base(kind, settings)) != origin(base)
    )


def is_kind(kind: BackendKind, client: Client) -> bool:
    """Return True if the client's base URL belongs to such a backend."""
    return _is_tempo(client) if kind == "tempo" else _is_jaeger(client)


def _is_jaeger(client: Client) -> bool:
    return _has_key(client, "/api/v3/services", "services") or _has_key(
        client, "/api/services", "data"
    )


def _is_tempo(client: Client) -> bool:
    return _probe(client, "/api/echo").head.strip() == b"echo"


def unknown_backend_error(base: str, client: Client) -> SourceError:
    """Return the error for a URL of neither backend; for Grafana, it says how to reach Tempo."""
    if _has_key(client, "/api/health", "database"):
        return SourceError(
            f"{display_url(base)} is Grafana, which stores no traces."
            f" Set {URL_SETTINGS['tempo']} to Tempo's address; or to Grafana's proxy for it,"
            f" …/api/datasources/proxy/uid/UID, and {HEADERS_SETTINGS['tempo']} to a token."
        )
    if _probe(client, "/").is_html:
        return request_errors.html_page_error(client.location)
    return request_errors.unexpected_data_error(client.location)


def _probe(client: Client, path: str) -> Response:
    return client.get(path, allowed=_ANY_ERROR)


def _has_key(client: Client, path: str, key: str) -> bool:
    response = _probe(client, path)
    document = response.document() if response.status == 200 else None
    return isinstance(document, dict) and key in document
