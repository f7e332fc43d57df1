"""What a command is given as SOURCE, read: a file, standard input, or what a backend has."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from failgraph.backends import Address, address_of, read_backend
from failgraph.backends.urls import display_url
from failgraph.cli.output import fetching_progress, reading_progress
from failgraph.errors import SourceError
from failgraph.readers import Reading, read
from failgraph.readers.source import open_journal
from failgraph.settings import current
from failgraph.traces.query import Query

_TRACE_ID = re.compile("[0-9a-fA-F]{1,32}")
_WHOLE = (16, 32)
"""Digits of a trace id that a backend can be asked for; Jaeger leaves out the upper half where that is zero."""
_SHORTEST = 6
"""Digits by which a trace of a file may be named, where only one begins with them."""


class ReadSource(NamedTuple):
    """A source that has been read.

    Attributes:
        name: As messages call it, and as it can be given again.
        reading: What it holds.
        notes: Sentences on what of a backend was not looked at.
        trace_id: The one trace that was asked for, 32 hex digits, or None.
    """

    name: str
    reading: Reading
    notes: tuple[str, ...] = ()
    trace_id: str | None = None


def read_source(
    given: str,
    query: Query,
    trace_id: str | None = None,
    *,
    journal: str | None = None,
    every: bool = False,
) -> ReadSource:
    """Read what was given: all of it, or of a backend what `query` may ask for, or the one trace.

    What `journal` holds is taken in, by default what the setting names, where that is there already.

    With `every` the durations of all of a backend's traces are asked for too, where they are not too many.

    Raises SourceError where it cannot be read, or does not hold that trace.
    """
    address = address_of(given, current(), os.path.exists)
    name = source_name(given, address)
    wanted = None if trace_id is None else _checked_trace_id(name, trace_id)
    if journal is None:
        journal = _default_journal()
    if address is None:
        return _read_file(given, wanted, journal)
    if wanted is not None:
        address = address._replace(trace_id=_whole_trace_id(name, wanted))
    return _read_backend(name, address, query, journal, every=every)


def source_name(given: str, address: Address | None) -> str:
    """What messages call a source: an address without what it holds besides."""
    if address is None or given == address.kind:
        return given
    return display_url(address.base)


def _checked_trace_id(name: str, given: str) -> str:
    """Return the hex digits that were given, in small letters."""
    digits = given.strip()
    if not _TRACE_ID.fullmatch(digits):
        what = digits or "an empty text"
        raise SourceError(
            f"{what} is no trace id of 32 hex digits; `failgraph list {name}` names some"
        )
    return digits.lower()


def _whole_trace_id(name: str, digits: str) -> str:
    """Return the 32 digits of an id that a backend can be asked for."""
    if len(digits) not in _WHOLE:
        raise SourceError(
            f"{name} is asked for a whole trace id, of 32 hex digits; `failgraph list {name}` names some"
        )
    return digits.zfill(32)


def _default_journal() -> str | None:
    """Return the journal of the settings, or None if it is not there."""
    journal = current().journal
    return journal if journal is not None and os.path.exists(journal) else None


def _read_file(path: str, wanted: str | None, journal: str | None) -> ReadSource:
    with reading_progress() as progress:
        reading = read(path, progress, journal)
    trace_id = None if wanted is None else _matching_trace(path, reading, wanted)
    return ReadSource(path, reading, trace_id=trace_id)


def _read_backend(
    name: str, address: Address, query: Query, journal: str | None, *, every: bool
) -> ReadSource:
    with fetching_progress() as progress, open_journal(journal) as more:
        reading, notes = read_backend(
            address, query, current(), progress, more, all_durations=every
        )
    trace_id = address.trace_id
    if trace_id is not None and trace_id not in reading.durations:
        raise SourceError(
            f"{name} does not have trace {trace_id}, or not yet; `failgraph list {name}` names some"
        )
    return ReadSource(name, reading, notes, trace_id)


def _matching_trace(name: str, reading: Reading, wanted: str) -> str:
    """The id of the trace that is meant: all of its digits, or so many that it is the only one."""
    if wanted.zfill(32) in reading.durations:
        return wanted.zfill(32)
    matching = [trace_id for trace_id in reading.durations if trace_id.startswith(wanted)]
    if len(wanted) >= _SHORTEST and len(matching) == 1:
        return matching[0]
    if len(wanted) >= _SHORTEST and matching:
        raise SourceError(
            f"{len(matching)} traces of {name} begin with {wanted}; give more digits of its id"
        )
    raise SourceError(
        f"{name} does not hold trace {wanted.zfill(32)}; `failgraph list {name}` names the"
        f" {len(reading.traces)} of its {trace_count(reading.trace_count)} that have failures"
    )


def trace_count(traces: int) -> str:
    """So many traces, in words."""
    return f"{traces} {'trace' if traces == 1 else 'traces'}"
