"""Traces out of a running Jaeger or Tempo, over HTTP.

`address_of` says which backend a source is, `fetched` brings its traces here, and `read_backend` reads them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import IO, NamedTuple

from failgraph.backends import detect
from failgraph.backends.address import HEADERS, URLS, Address, Kind, address_of, headers_for
from failgraph.backends.client import Client
from failgraph.backends.jaeger import Jaeger
from failgraph.backends.kept import Kept
from failgraph.backends.refusals import Place
from failgraph.backends.tempo import Tempo
from failgraph.backends.windows import Found
from failgraph.errors import SourceError
from failgraph.losses import Loss, Losses
from failgraph.readers import Reading, read_parts
from failgraph.readers.query import Query
from failgraph.settings import Settings

__all__ = ["Address", "Fetched", "Told", "address_of", "fetched", "read_backend"]

LIMIT = 100
"""Traces that are looked at where nobody says how many."""
LOOKBACK = 3600 * 1_000_000_000
"""Nanoseconds before now from which on traces are looked at where nobody says since when."""

_AHEAD = 60 * 1_000_000_000
"""Nanoseconds that other clocks may be ahead of ours."""
_MOST_BYTES = 1 << 30
"""Of all traces together."""

Told = Callable[[int, int], None]
"""Told, while traces are fetched, how many of how many are there; 0 of 0 while they are searched for."""


class Fetched(NamedTuple):
    """What a backend gave."""

    parts: list[tuple[str, IO[bytes]]]
    """For `read_parts`; none where the backend has no such trace."""
    losses: Losses
    """What it has and did not give."""
    notes: tuple[str, ...]
    """What was not asked for, each in a sentence."""


@contextmanager
def fetched(address: Address, query: Query, settings: Settings, told: Told | None = None) -> Iterator[Fetched]:
    """The trace of `address`, or the newest ones that may match `query`; in temporary files, for as long as this lasts.

    Raises SourceError, with one line that says what to do, where the backend does not give them.
    """
    with _backend(address, settings) as (place, backend), closing(Kept(str(place))) as kept:
        if told is not None:
            told(0, 0)
        found, notes = _found(address, query, backend)
        losses: list[Loss] = []
        if found.crowded:
            losses.append(Loss("partial_trace", f"{place} has more traces of one moment than it gives at once"))
        try:
            for number, trace_id in enumerate(found.trace_ids):
                if told is not None:
                    told(number, len(found.trace_ids))
                if kept.size > _MOST_BYTES:
                    left = len(found.trace_ids) - number
                    losses.append(Loss("partial_trace", f"{left} traces more than fit in {_MOST_BYTES >> 20} MB"))
                    break
                answer = backend.trace(trace_id)
                if answer is not None:
                    kept.add(answer)
                elif address.trace_id is None:
                    losses.append(Loss("partial_trace", f"{trace_id} was found, but is not there any more"))
            parts = kept.parts()
        except OSError as error:
            raise SourceError(f"the traces cannot be kept here: {error.strerror}; TMPDIR names another place") from None
        yield Fetched(parts, tuple(losses), notes)


def read_backend(
    address: Address, query: Query, settings: Settings, told: Told | None = None
) -> tuple[Reading, tuple[str, ...]]:
    """What `fetched` brings, read, and what was not asked for; without traces where the backend has none such."""
    with fetched(address, query, settings, told) as brought:
        try:
            reading = read_parts(brought.parts) if brought.parts else Reading([], {}, {}, ())
        except SourceError as error:
            where = " or ".join(URLS[kind] for kind in URLS if address.kind in (kind, None))
            raise SourceError(f"{error}; {where} says where the API is, with the path before /api") from None
        return reading._replace(losses=(*brought.losses, *reading.losses)), brought.notes


def _found(address: Address, query: Query, backend: Jaeger | Tempo) -> tuple[Found, tuple[str, ...]]:
    if address.trace_id is not None:
        return Found([address.trace_id], more=False, crowded=False), ()
    now = time.time_ns()
    since = now - LOOKBACK if query.since_unix_nano is None else query.since_unix_nano
    limit = LIMIT if query.limit is None else query.limit
    found = backend.failing(query, since, max(now, since) + _AHEAD, limit)
    notes = []
    if found.more:
        notes.append(f"looked at the newest {len(found.trace_ids)} of more traces; --limit sets how many")
    if query.since_unix_nano is None:
        notes.append("looked at the last hour; --since sets from when on")
    return found, tuple(notes)


@contextmanager
def _backend(address: Address, settings: Settings) -> Iterator[tuple[Place, Jaeger | Tempo]]:
    kind = address.kind or _asked_for_kind(address.base, settings)
    headers = headers_for(kind, address.base, settings)
    with closing(Client(_place(kind, address.base), headers)) as client:
        yield client.place, Jaeger(client) if kind == "jaeger" else Tempo(client)


def _asked_for_kind(base: str, settings: Settings) -> Kind:
    """Find out which backend it is; what is sent along is only what is configured for each, at that origin."""
    kinds = detect.order(base, settings)
    for kind in kinds:
        with closing(Client(_place(None, base), headers_for(kind, base, settings))) as client:
            if detect.is_kind(kind, client):
                return kind
    with closing(Client(_place(None, base), headers_for(kinds[0], base, settings))) as client:
        raise detect.neither(base, client)


def _place(kind: Kind | None, base: str) -> Place:
    if kind is None:
        return Place("the backend", base, " or ".join(URLS.values()), " or ".join(HEADERS.values()))
    return Place(kind.capitalize(), base, URLS[kind], HEADERS[kind])
