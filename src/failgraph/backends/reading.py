"""Read one trace of a backend, or the newest traces with failures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple

from failgraph.backends.address import Address
from failgraph.backends.backend import Backend
from failgraph.backends.connect import connected
from failgraph.backends.fetching import FetchProgress, TraceFetcher
from failgraph.backends.search_windows import SearchResult
from failgraph.backends.spool import TraceSpool
from failgraph.errors import SourceError
from failgraph.losses import Loss
from failgraph.readers import Reading
from failgraph.readers.reading import read_files
from failgraph.readers.source import SourceFile
from failgraph.settings import Settings
from failgraph.traces.query import Query

_DEFAULT_LIMIT = 100  # traces that are read if the query has no limit
_MAX_LIMIT = 100_000  # traces that are read of a whole time window
_MAX_DURATIONS = 1000  # traces whose durations are summed up
_DEFAULT_LOOKBACK = 3600 * 1_000_000_000  # ns before now, if the query has no start
_CLOCK_SKEW = 60 * 1_000_000_000  # ns that the clocks of other machines may be ahead


class BackendReading(NamedTuple):
    """What was read of a backend.

    Attributes:
        reading: The traces.
        notes: Sentences that say what was not looked at.
    """

    reading: Reading
    notes: tuple[str, ...] = ()


class _TimeWindow(NamedTuple):
    """From when to when traces are looked at, in ns since the epoch."""

    since: int
    until: int


def read_backend(
    address: Address,
    query: Query,
    settings: Settings,
    progress: FetchProgress | None = None,
    journal: Sequence[SourceFile] = (),
    *,
    whole_window: bool = False,
) -> BackendReading:
    """Read the trace of an address, or the newest traces that may match a query.

    Causes in other traces are fetched too. The reading is empty if neither the backend nor the
    journal has a match.

    Args:
        address: The backend, and the trace if it is one.
        query: What to search for if the address has no trace.
        settings: The settings, which hold the headers for the backend.
        progress: Called while traces are fetched; None disables it.
        journal: The files of a journal. Its traces are looked up in the backend as well.
        whole_window: True to read all traces of the time in place of the newest 100, if the query
            has no limit. The reading then has the durations of those without failures too. It has
            none if there are too many, which a note says, or if traces with failures were left
            out.

    Raises:
        SourceError: The backend does not give what it is asked for; the message says what to do.
    """
    try:
        with (
            connected(address, settings) as connection,
            closing(TraceSpool(str(connection.location))) as spool,
        ):
            if progress is not None:
                progress(0, 0)
            fetcher = TraceFetcher(connection, spool, journal)
            if address.trace_id is not None:
                return _read_trace(address.trace_id, fetcher, progress)
            return _read_newest(query, fetcher, progress, whole_window=whole_window)
    except OSError as error:
        raise SourceError(
            f"cannot write temporary files: {error.strerror}; set TMPDIR to another directory"
        ) from None


def _read_trace(
    trace_id: str, fetcher: TraceFetcher, progress: FetchProgress | None
) -> BackendReading:
    fetcher.fetch([trace_id], progress)  # a missing trace is the result, not a loss
    return BackendReading(fetcher.read_with_causes([trace_id]))


def _read_newest(
    query: Query, fetcher: TraceFetcher, progress: FetchProgress | None, *, whole_window: bool
) -> BackendReading:
    location, backend = fetcher.connection
    window = _time_window(query)
    limit = _limit(query, whole_window=whole_window)
    result = backend.search(query, window.since, window.until, limit)
    losses = fetcher.fetch(result.trace_ids, progress)
    if result.is_truncated:
        crowded = f"{location} has more traces with the same start than one response can hold"
        losses.append(Loss("partial_trace", crowded))
    journal_traces = _journal_traces(fetcher.journal, query, window, result)[-limit:]
    fetcher.fetch(journal_traces)
    reading = fetcher.read_with_causes([*result.trace_ids, *journal_traces])
    notes = _search_notes(query, result, backend, whole_window=whole_window)
    if whole_window:
        durations = None if result.has_older else backend.durations(*window, _MAX_DURATIONS)
        if durations is None and not result.has_older:
            notes.append(
                f"unknown share of the time lost: there are more than {_MAX_DURATIONS} traces; use"
                " a later --since"
            )
        known = {} if durations is None else {**durations, **reading.durations}
        reading = reading._replace(durations=known)
    reading = reading._replace(losses=(*losses, *reading.losses))
    return BackendReading(reading, tuple(notes))


def _limit(query: Query, *, whole_window: bool) -> int:
    if query.limit is not None:
        return query.limit
    return _MAX_LIMIT if whole_window else _DEFAULT_LIMIT


def _time_window(query: Query) -> _TimeWindow:
    """Return the time that a query asks for; by default the hour before its end."""
    now = time.time_ns()
    end = now if query.until_unix_nano is None else min(now, query.until_unix_nano)
    since = query.since_unix_nano
    if since is None:
        since = max(0, end - _DEFAULT_LOOKBACK)
    if query.until_unix_nano is None or query.until_unix_nano > now:
        return _TimeWindow(since, max(now, since) + _CLOCK_SKEW)
    return _TimeWindow(since, max(end, since) + 1)


def _search_notes(
    query: Query, result: SearchResult, backend: Backend, *, whole_window: bool
) -> list[str]:
    notes = []
    if result.has_older:
        advice = "use a later --since" if whole_window else "raise --limit to see them"
        notes.append(f"there are more traces than the newest {len(result.trace_ids)}; {advice}")
    if query.since_unix_nano is None:
        hour = "the last hour" if query.until_unix_nano is None else "the hour before --until"
        notes.append(f"only {hour} was searched; use --since to search more")
    if not result.trace_ids and backend.search_delay is not None:
        notes.append(backend.search_delay)
    return notes


def _journal_traces(
    journal: Sequence[SourceFile], query: Query, window: _TimeWindow, result: SearchResult
) -> list[str]:
    """Return the matching traces of the journal that the search did not find, by start.

    The backend may hold a part of them.
    """
    if not journal:
        return []
    return [
        trace.trace_id
        for trace in read_files(journal).traces
        if window.since <= trace.start_unix_nano <= window.until
        and query.matches(trace)
        and trace.trace_id not in result.trace_ids
    ]
