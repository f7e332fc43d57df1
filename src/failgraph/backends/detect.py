"""Which backend an address is of, found out by asking."""

from __future__ import annotations

from failgraph.backends import refusals
from failgraph.backends.address import HEADERS, KINDS, URLS, Kind, configured, origin, shown
from failgraph.backends.client import Answer, Client
from failgraph.errors import SourceError
from failgraph.settings import Settings

ANY_ANSWER = frozenset(range(400, 600)) - {401, 403, 429, 503}
"""Statuses by which something says that it has no such path, whatever it means to say."""


def order(base: str, settings: Settings) -> list[Kind]:
    """Which kinds to try, the likelier first: that of the setting of the same origin."""
    return sorted(KINDS, key=lambda kind: origin(configured(kind, settings)) != origin(base))


def is_kind(kind: Kind, client: Client) -> bool:
    """Whether what answers is such a backend."""
    if kind == "tempo":
        return _asked(client, "/api/echo").head.strip() == b"echo"
    paths = (("/api/v3/services", "services"), ("/api/services", "data"))
    return any(_has(_asked(client, path), key) for path, key in paths)


def neither(base: str, client: Client) -> SourceError:
    """The error where it is none of them; Grafana is told how to be asked."""
    if _has(_asked(client, "/api/health"), "database"):
        return SourceError(
            f"{shown(base)} is Grafana, which holds no traces itself; set {URLS['tempo']} to Tempo's address, or to"
            f" that of its data source here, …/api/datasources/proxy/uid/UID, and {HEADERS['tempo']} to a token for it"
        )
    answer = _asked(client, "/")
    if answer.is_page:
        return refusals.a_page(client.place)
    return SourceError(
        f"{shown(base)} answers, but neither as Jaeger nor as Tempo; give its API's address, with the path before /api"
    )


def _asked(client: Client, path: str) -> Answer:
    return client.get(path, allowed=ANY_ANSWER)


def _has(answer: Answer, key: str) -> bool:
    document = answer.document() if answer.status == 200 else None
    return isinstance(document, dict) and key in document
