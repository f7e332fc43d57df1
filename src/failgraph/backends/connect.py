"""From an address to a backend that can be asked, with the headers that belong to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Final, NamedTuple

from failgraph.backends import detect
from failgraph.backends.address import Address
from failgraph.backends.backend import Backend
from failgraph.backends.backend_settings import (
    BACKEND_KINDS,
    HEADERS_SETTINGS,
    URL_SETTINGS,
    BackendKind,
    headers_for,
)
from failgraph.backends.client import Client
from failgraph.backends.jaeger import Jaeger
from failgraph.backends.location import BackendLocation
from failgraph.backends.tempo import Tempo
from failgraph.settings import Settings

_BACKENDS: Final[dict[BackendKind, Callable[[Client], Backend]]] = {
    "jaeger": Jaeger,
    "tempo": Tempo,
}


class Connection(NamedTuple):
    """A backend that can be asked, and how messages name it."""

    location: BackendLocation
    backend: Backend


@contextmanager
def connected(address: Address, settings: Settings) -> Iterator[Connection]:
    """Provide the backend of an address.

    Raises:
        SourceError: It cannot be reached, or is neither Jaeger nor Tempo.
    """
    base = address.base
    kind = address.kind or _detected_kind(base, settings)
    location = BackendLocation(kind.capitalize(), base, URL_SETTINGS[kind], HEADERS_SETTINGS[kind])
    with closing(Client(location, headers_for(kind, base, settings))) as client:
        yield Connection(client.location, _BACKENDS[kind](client))


def _detected_kind(base: str, settings: Settings) -> BackendKind:
    """Ask which backend it is; each question carries only that kind's headers for this origin."""
    location = BackendLocation(
        " or ".join(kind.capitalize() for kind in BACKEND_KINDS),
        base,
        " or ".join(URL_SETTINGS.values()),
        " or ".join(HEADERS_SETTINGS.values()),
    )
    kinds = detect.probing_order(base, settings)
    for kind in kinds:
        with closing(Client(location, headers_for(kind, base, settings))) as client:
            if detect.is_kind(kind, client):
                return kind
    with closing(Client(location, headers_for(kinds[0], base, settings))) as client:
        raise detect.unknown_backend_error(base, client)
