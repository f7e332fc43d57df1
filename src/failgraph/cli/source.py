"""What a command is given as SOURCE, read: a file, standard input, or what a backend has."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from failgraph.backends import Address, address_of, read_backend
from failgraph.backends.address import shown
from failgraph.cli.output import fetching, progress
from failgraph.errors import SourceError
from failgraph.readers import Reading, journal_parts, read
from failgraph.settings import current
from failgraph.traces.query import Query

_TRACE_ID = re.compile("[0-9a-fA-F]{1,32}")
_WHOLE = (16, 32)
"""Digits of a trace id that a backend can be asked for; Jaeger leaves out the upper half where that is zero."""
_SHORTEST = 6
"""Digits by which a trace of a file may be named, where only one begins with them."""


class Source(NamedTuple):
    """A source that has been read."""

    name: str
    """As messages call it, and as it can be given again."""
    reading: Reading
    notes: tuple[str, ...] = ()
    """What of a backend was not looked at."""
    trace_id: str | None = None
    """The one trace that was asked for."""


def read_source(
    given: str,
    query: Query,
    trace_id: str | None = None,
    *,
    journal: str | None = None,
    every: bool = False,
) -> Source:
    """Read what was given: all of it, or of a backend what `query` may ask for, or the one trace.

    What `journal` holds is taken in, by default what the setting names, where that is there already.

    With `every` the durations of all of a backend's traces are asked for too, where they are not too many.

    Raises SourceError where it cannot be read, or does not hold that trace.
    """
    address = address_of(given, current(), os.path.exists)
    name = called(given, address)
    trace_id = trace_id if trace_id is None else trace_id.strip()
    if trace_id is not None and not _TRACE_ID.fullmatch(trace_id):
        what = trace_id or "an empty text"
        raise SourceError(
            f"{what} is no trace id of 32 hex digits; `failgraph list {name}` names some"
        )
    if journal is None:
        journal = current().journal if os.path.exists(current().journal or "") else None
    if address is not None:
        return _read_backend(name, address, query, trace_id, journal, every=every)
    with progress() as told:
        reading = read(given, told, journal)
    return Source(
        given,
        reading,
        trace_id=None if trace_id is None else _the_trace(given, reading, trace_id.lower()),
    )


def _read_backend(
    name: str,
    address: Address,
    query: Query,
    trace_id: str | None,
    journal: str | None,
    *,
    every: bool,
) -> Source:
    if trace_id is not None:
        if len(trace_id) not in _WHOLE:
            raise SourceError(
                f"{name} is asked for a whole trace id, of 32 hex digits; `failgraph list {name}` names some"
            )
        address = address._replace(trace_id=trace_id.lower().zfill(32))
    with fetching() as told, journal_parts(journal) as more:
        reading, notes = read_backend(address, query, current(), told, more, every=every)
    wanted = address.trace_id
    if wanted is not None and wanted not in reading.durations:
        raise SourceError(
            f"{name} does not have trace {wanted}, or not yet; `failgraph list {name}` names some"
        )
    return Source(name, reading, notes, wanted)


def called(given: str, address: Address | None) -> str:
    """What messages call a source: an address without what it holds besides."""
    return given if address is None or given == address.kind else shown(address.base)


def _the_trace(name: str, reading: Reading, wanted: str) -> str:
    """The id of the trace that is meant: all of its digits, or so many that it is the only one."""
    if wanted.zfill(32) in reading.durations:
        return wanted.zfill(32)
    found = [trace_id for trace_id in reading.durations if trace_id.startswith(wanted)]
    if len(wanted) >= _SHORTEST and len(found) == 1:
        return found[0]
    if len(wanted) >= _SHORTEST and found:
        raise SourceError(
            f"{len(found)} traces of {name} begin with {wanted}; give more digits of its id"
        )
    raise SourceError(
        f"{name} does not hold trace {wanted.zfill(32)}; `failgraph list {name}` names the"
        f" {len(reading.traces)} of its {count_of(reading.trace_count)} that have failures"
    )


def count_of(traces: int) -> str:
    """So many traces, in words."""
    return f"{traces} {'trace' if traces == 1 else 'traces'}"
