"""Traces out of a running Jaeger or Tempo, over HTTP.

`address_of` says which backend a source is, and `read_backend` reads its traces: they are searched for, fetched into
temporary files, and read as files are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from failgraph.backends.address import URLS, Address, address_of
from failgraph.backends.connect import connected
from failgraph.backends.jaeger import Jaeger
from failgraph.backends.refusals import Place
from failgraph.backends.remote_causes import causes_elsewhere, only
from failgraph.backends.spool import Kept
from failgraph.backends.tempo import Tempo
from failgraph.backends.windows import Found
from failgraph.errors import SourceError
from failgraph.losses import Loss, Losses
from failgraph.readers import Reading
from failgraph.readers.reading import read_files
from failgraph.readers.source import SourceFile
from failgraph.settings import Settings
from failgraph.traces.query import Query

__all__ = ["Address", "Told", "address_of", "read_backend"]

LIMIT = 100
"""Traces that are looked at where nobody says how many."""
EVERY = 1000
"""Traces whose durations are summed up."""
LOOKBACK = 3600 * 1_000_000_000
"""Nanoseconds before now from which on traces are looked at where nobody says since when."""

_AHEAD = 60 * 1_000_000_000
"""Nanoseconds that other clocks may be ahead of ours."""
_MOST_BYTES = 1 << 30
"""Of all traces together."""
_ROUNDS = 3
"""How often the traces of causes are asked for: each may name another."""
_MOST_ELSEWHERE = 32
"""Traces of causes that are asked for at a time."""

Told = Callable[[int, int], None]
"""Told, while traces are fetched, how many of how many are there; 0 of 0 while they are searched for."""


def read_backend(
    address: Address,
    query: Query,
    settings: Settings,
    told: Told | None = None,
    more: Sequence[SourceFile] = (),
    *,
    every: bool = False,
) -> tuple[Reading, tuple[str, ...]]:
    """The trace of `address`, or the newest ones that may match `query`; and in sentences what was not looked at.

    With `every` the durations are those of all traces since then, those without failures too; none where they are too
    many, or not all that have failures were looked at, and that is said.

    What `more` holds beside, a journal, is put together with what the backend has of the same traces, and shows traces
    that a search would not find.

    There is no trace in it where neither has one such. Causes in other traces are taken in. Raises SourceError,
    with one line that says what to do, where the backend does not give what it is asked for.
    """
    try:
        with connected(address, settings) as (place, backend), closing(Kept(str(place))) as kept:
            if told is not None:
                told(0, 0)
            found, notes = _found(address, query, backend)
            losses = _fetch(found.trace_ids, backend, kept, told)
            if found.crowded:
                losses.append(
                    Loss(
                        "partial_trace",
                        f"{place} has more traces of one moment than it gives at once",
                    )
                )
            if address.trace_id is not None:
                losses = []  # that it is not there is no loss but the answer
            beside = _beside(address, query, more, found)
            _fetch(beside, backend, kept, None)
            reading = _read(address, place, kept, more)
            shown = {*found.trace_ids, *beside}
            asked = set(shown)
            for _ in range(_ROUNDS):
                others = causes_elsewhere(reading, asked)[:_MOST_ELSEWHERE]
                if not others:
                    break
                asked.update(others)
                _fetch(others, backend, kept, None)
                reading = _read(address, place, kept, more)
            reading = only(reading, shown)
            if every and found.more:
                reading = reading._replace(durations={})
            elif every and address.trace_id is None:
                reading, notes = _with_every(reading, notes, query, backend)
    except OSError as error:
        raise SourceError(
            f"the traces cannot be kept here: {error.strerror}; TMPDIR names another place"
        ) from None
    return reading._replace(losses=(*losses, *reading.losses)), notes


def _found(
    address: Address, query: Query, backend: Jaeger | Tempo
) -> tuple[Found, tuple[str, ...]]:
    if address.trace_id is not None:
        return Found([address.trace_id], more=False, crowded=False), ()
    limit = LIMIT if query.limit is None else query.limit
    found = backend.failing(query, *_window(query), limit)
    notes = []
    if found.more:
        notes.append(
            f"looked at the newest {len(found.trace_ids)} of more traces; --limit sets how many"
        )
    if query.since_unix_nano is None:
        notes.append("looked at the last hour; --since sets from when on")
    if not found.trace_ids and isinstance(backend, Tempo):
        notes.append("Tempo's search finds a trace only some seconds after it has arrived")
    return found, tuple(notes)


def _beside(address: Address, query: Query, more: Sequence[SourceFile], found: Found) -> list[str]:
    """The newest traces of what is read beside the backend that were not found there; there may be a part of them."""
    if address.trace_id is not None or not more:
        return []
    since, until = _window(query)
    traces = [trace for trace in read_files(more).traces if since <= trace.start_unix_nano <= until]
    others = [
        trace.trace_id
        for trace in traces
        if query.matches(trace) and trace.trace_id not in found.trace_ids
    ]
    return others[-(LIMIT if query.limit is None else query.limit) :]


def _window(query: Query) -> tuple[int, int]:
    """From when to when traces are looked at, in ns since the epoch."""
    now = time.time_ns()
    since = now - LOOKBACK if query.since_unix_nano is None else query.since_unix_nano
    return since, max(now, since) + _AHEAD


def _with_every(
    reading: Reading, notes: tuple[str, ...], query: Query, backend: Jaeger | Tempo
) -> tuple[Reading, tuple[str, ...]]:
    durations = backend.durations(*_window(query), EVERY)
    if durations is None:
        said = f"there are more than {EVERY} traces, too many to sum up their durations; --since sets from when on"
        return reading._replace(durations={}), (*notes, said)
    return reading._replace(durations={**durations, **reading.durations}), notes


def _fetch(
    trace_ids: list[str], backend: Jaeger | Tempo, kept: Kept, told: Told | None
) -> list[Loss]:
    """Fetch traces one by one; what did not come."""
    losses = []
    for number, trace_id in enumerate(trace_ids):
        if told is not None:
            told(number, len(trace_ids))
        if kept.size > _MOST_BYTES:
            left = len(trace_ids) - number
            losses.append(
                Loss("partial_trace", f"{left} traces more than fit in {_MOST_BYTES >> 20} MB")
            )
            break
        answer = backend.trace(trace_id)
        if answer is not None:
            kept.add(answer)
        else:
            losses.append(Loss("partial_trace", f"{trace_id} was found, but is not there any more"))
    return losses


def _read(address: Address, place: Place, kept: Kept, more: Sequence[SourceFile]) -> Reading:
    """What was fetched, and `more`; the backend's words among it may repeat what it was sent."""
    parts = [*kept.parts(), *more]
    try:
        reading = read_files(parts) if parts else Reading([], {}, {}, ())
    except SourceError as error:
        where = " or ".join(URLS[kind] for kind in URLS if address.kind in (kind, None))
        raise SourceError(
            f"{place.clean(str(error))}; {where} says where the API is, with the path before /api"
        ) from None
    return reading._replace(
        traces=[replace(trace, losses=_clean(trace.losses, place)) for trace in reading.traces],
        losses=_clean(reading.losses, place),
    )


def _clean(losses: Losses, place: Place) -> Losses:
    return tuple(loss._replace(detail=place.clean(loss.detail)) for loss in losses)
