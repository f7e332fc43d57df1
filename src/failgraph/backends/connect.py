"""A backend that can be asked, from an address: of which kind it is, and with what is configured for that place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from failgraph.backends import detect
from failgraph.backends.address import HEADERS, URLS, Address, Kind, headers_for
from failgraph.backends.client import Client
from failgraph.backends.jaeger import Jaeger
from failgraph.backends.refusals import Place
from failgraph.backends.tempo import Tempo
from failgraph.settings import Settings


@contextmanager
def connected(address: Address, settings: Settings) -> Iterator[tuple[Place, Jaeger | Tempo]]:
    """The backend of an address. Raises SourceError where it is neither Jaeger nor Tempo."""
    kind = address.kind or _found_kind(address.base, settings)
    with closing(_client(kind, kind, address.base, settings)) as client:
        yield client.place, Jaeger(client) if kind == "jaeger" else Tempo(client)


def _found_kind(base: str, settings: Settings) -> Kind:
    """Which it is, by asking; what is sent along is only what is configured for each, at that origin."""
    kinds = detect.order(base, settings)
    for kind in kinds:
        with closing(_client(None, kind, base, settings)) as client:
            if detect.is_kind(kind, client):
                return kind
    with closing(_client(None, kinds[0], base, settings)) as client:
        raise detect.neither(base, client)


def _client(known: Kind | None, kind: Kind, base: str, settings: Settings) -> Client:
    headers = headers_for(kind, base, settings)
    if known is None:
        return Client(
            Place("the backend", base, " or ".join(URLS.values()), " or ".join(HEADERS.values())),
            headers,
        )
    return Client(Place(kind.capitalize(), base, URLS[kind], HEADERS[kind]), headers)
