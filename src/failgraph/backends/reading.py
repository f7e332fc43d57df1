"""Read traces of backends: single ones, or the newest with failures; together with files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from typing import NamedTuple

from failgraph.backends.address import Address
from failgraph.backends.backend import Backend
from failgraph.backends.connect import connected
from failgraph.backends.fetching import FetchProgress, TraceFetcher, read_with_causes
from failgraph.backends.search_windows import SearchResult
from failgraph.backends.spool import TraceSpool
from failgraph.errors import SourceError, reason_of
from failgraph.losses import Loss
from failgraph.readers import Reading
from failgraph.readers.reading import read_files
from failgraph.readers.source import OpenFiles
from failgraph.settings import Settings
from failgraph.traces.query import Query
from failgraph.traces.wanted_ids import WantedId

_DEFAULT_LIMIT = 100  # traces that are read if the query has no limit
_MAX_LIMIT = 100_000  # traces that are read of a whole time window
_MAX_IDS = 1000  # traces among which the first digits of an id are looked for
_MAX_DURATIONS = 1000  # traces whose durations are summed up
_DEFAULT_LOOKBACK = 3600 * 1_000_000_000  # ns before now, if the query has no start
_CLOCK_SKEW = 60 * 1_000_000_000  # ns that the clocks of other machines may be ahead


class BackendReading(NamedTuple):
    """What was read of backends, and of files beside them.

    Attributes:
        reading: The traces.
        notes: Sentences that say what was not looked at.
    """

    reading: Reading
    notes: tuple[str, ...] = ()


class BackendRequest(NamedTuple):
    """What to read of backends.

    Attributes:
        query: What to search for in a backend whose address has no trace.
        ids: The only traces and rollouts to read; empty for all that match the query.
        whole_window: True to read all traces of the time in place of the newest 100, if the query
            has no limit. The reading then has the durations of those without failures too. It has
            none if there are too many, which a note says, or if traces with failures were left
            out.
    """

    query: Query = Query()
    ids: Sequence[WantedId] = ()
    whole_window: bool = False

    @property
    def limit(self) -> int:
        """The largest number of traces."""
        if self.query.limit is not None:
            return self.query.limit
        return _MAX_LIMIT if self.whole_window else _DEFAULT_LIMIT


class _TimeWindow(NamedTuple):
    """From when to when traces are looked at, in ns since the epoch."""

    since: int
    until: int


class _Fetched(NamedTuple):
    """What was fetched of one backend.

    Attributes:
        losses: What is missing.
        notes: What was not looked at.
        durations: By trace id, for a whole window; None if unknown.
    """

    losses: list[Loss]
    notes: list[str]
    durations: dict[str, int | None] | None = None


def read_backends(
    addresses: Sequence[Address],
    request: BackendRequest,
    settings: Settings,
    progress: FetchProgress | None = None,
    opened: OpenFiles | None = None,
) -> BackendReading:
    """Read the traces of addresses, or the newest traces that a request may match.

    Causes in other traces are fetched too. The reading is empty if nothing matches.

    Args:
        addresses: The backends, each with its trace if it is one.
        request: What to read.
        settings: The settings, which hold the headers for the backends.
        progress: Called while traces are fetched; None disables it.
        opened: Files to read besides, as a whole. The backends are asked for their traces too,
            since each may hold a part: those that match the request, the newest 100.

    Raises:
        SourceError: A backend does not give what it is asked for; the message says what to do.
    """
    try:
        with ExitStack() as stack:
            fetchers = []
            for address in addresses:
                connection = stack.enter_context(connected(address, settings))
                spool = stack.enter_context(closing(TraceSpool(str(connection.location))))
                fetchers.append(TraceFetcher(connection, spool))
            backends = list(zip(addresses, fetchers, strict=True))
            return _read(backends, request, progress, opened or OpenFiles([], []))
    except OSError as error:
        raise SourceError(
            f"cannot write temporary files: {reason_of(error)}; set TMPDIR to another directory"
        ) from None


def _read(
    backends: Sequence[tuple[Address, TraceFetcher]],
    request: BackendRequest,
    progress: FetchProgress | None,
    opened: OpenFiles,
) -> BackendReading:
    window = _time_window(request.query)
    of_files = _traces_of_files(opened, request, window)
    fetched = []
    for address, fetcher in backends:
        if progress is not None:
            progress(0, 0)
        fetched.append(_fetch(address, fetcher, request, window, progress))
        fetcher.fetch(of_files)  # a missing trace is no loss
    reading = read_with_causes([fetcher for _, fetcher in backends], opened)
    losses = [loss for each in fetched for loss in each.losses]
    reading = reading._replace(losses=(*losses, *reading.losses))
    if request.whole_window:
        reading = reading._replace(durations=_all_durations(fetched, reading))
    notes = dict.fromkeys(note for each in fetched for note in each.notes)
    return BackendReading(reading, tuple(notes))


def _all_durations(fetched: Sequence[_Fetched], reading: Reading) -> dict[str, int | None]:
    """Return the durations of all traces of the time, or none if those of a backend are unknown."""
    durations: dict[str, int | None] = {}
    for each in fetched:
        if each.durations is None:
            return {}
        durations |= each.durations
    return {**durations, **reading.durations}


def _fetch(
    address: Address,
    fetcher: TraceFetcher,
    request: BackendRequest,
    window: _TimeWindow,
    progress: FetchProgress | None,
) -> _Fetched:
    """Fetch the trace of an address, the ids of a request, or the newest traces that match."""
    if address.trace_id is not None:
        fetcher.fetch([address.trace_id], progress)  # a missing trace is the result, not a loss
        return _Fetched([], [], {})
    if request.ids:
        return _fetch_ids(fetcher, request, window, progress)
    location, backend = fetcher.connection
    query = request.query
    result = backend.search(query, window.since, window.until, request.limit)
    losses = fetcher.fetch(result.trace_ids, progress)
    if result.is_truncated:
        crowded = f"{location} has more traces with the same start than one response can hold"
        losses.append(Loss("partial_trace", crowded))
    notes = _search_notes(request, result, backend)
    if not request.whole_window or result.has_older:
        return _Fetched(losses, notes)
    durations = backend.durations(*window, _MAX_DURATIONS)
    if durations is None:
        notes.append(
            f"unknown share of the time lost: there are more than {_MAX_DURATIONS} traces; use"
            " a later --since"
        )
    return _Fetched(losses, notes, durations)


def _fetch_ids(
    fetcher: TraceFetcher,
    request: BackendRequest,
    window: _TimeWindow,
    progress: FetchProgress | None,
) -> _Fetched:
    """Fetch the traces that the ids of a request name."""
    backend = fetcher.connection.backend
    whole = [wanted.trace_id for wanted in request.ids if wanted.trace_id is not None]
    fetcher.fetch(whole, progress)  # a missing trace is the result, not a loss
    found: list[str] = []
    is_searched = False
    for wanted in request.ids:
        if not wanted.may_be_rollout:
            continue
        is_searched = True
        of_rollout = Query(rollout_id=wanted.text)
        matching = backend.search(of_rollout, *window, request.limit).trace_ids
        if not matching and wanted.may_be_cut:
            recent = backend.search(Query(), *window, max(request.limit, _MAX_IDS)).trace_ids
            matching = wanted.matching(recent)
        found += matching
    losses = fetcher.fetch([each for each in dict.fromkeys(found) if each not in whole], progress)
    notes = _since_notes(request.query) if is_searched else []
    return _Fetched(losses, notes)


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


def _search_notes(request: BackendRequest, result: SearchResult, backend: Backend) -> list[str]:
    notes = []
    if result.has_older:
        advice = "use a later --since" if request.whole_window else "raise --limit to see them"
        notes.append(f"there are more traces than the newest {len(result.trace_ids)}; {advice}")
    notes += _since_notes(request.query)
    if not result.trace_ids and backend.search_delay is not None:
        notes.append(backend.search_delay)
    return notes


def _since_notes(query: Query) -> list[str]:
    if query.since_unix_nano is not None:
        return []
    hour = "the last hour" if query.until_unix_nano is None else "the hour before --until"
    return [f"only {hour} was searched; use --since to search more"]


def _traces_of_files(opened: OpenFiles, request: BackendRequest, window: _TimeWindow) -> list[str]:
    """Return the traces of files that a backend may hold a part of: those that a request names.

    Without ids they are the newest traces that match. Saved rows and failures outside any trace
    have ids of their own, which no backend knows.
    """
    reading = Reading([], {}, {}, ())
    with suppress(SourceError):  # reading everything together says what is wrong
        reading = read_files(opened.files) if opened.files else reading
    if request.ids:
        named = (wanted.find(reading.durations, reading.rollouts) for wanted in request.ids)
        return list(dict.fromkeys(trace_id for each in named for trace_id in each))
    matching = [
        trace.trace_id
        for trace in reading.traces
        if window.since <= trace.start_unix_nano <= window.until and request.query.matches(trace)
    ]
    return matching[-request.limit :]
