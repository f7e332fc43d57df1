"""Fetch traces of backends, and read them together with files and with their causes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from failgraph.backends.connect import Connection
from failgraph.backends.location import BackendLocation
from failgraph.backends.remote_causes import missing_cause_traces, only_traces
from failgraph.backends.spool import TraceSpool
from failgraph.errors import SourceError
from failgraph.losses import Loss, Losses
from failgraph.readers import Reading
from failgraph.readers.file_pass import NoTraceError
from failgraph.readers.reading import read_files
from failgraph.readers.source import OpenFiles, SourceFile

_MAX_BYTES = 1 << 30  # of all traces together
_CAUSE_ROUNDS = 3  # how often traces of causes are fetched: each may name another
_MAX_CAUSE_TRACES = 32  # fetched in one round

FetchProgress = Callable[[int, int], None]
"""Called with the traces fetched and those to fetch; with 0 and 0 while the backend is searched."""


class TraceFetcher:
    """Fetches traces of one backend.

    Args:
        connection: The backend.
        spool: Holds the fetched traces.
    """

    def __init__(self, connection: Connection, spool: TraceSpool) -> None:
        self.connection = connection
        self._spool = spool
        self._asked_for: set[str] = set()

    def files(self) -> list[SourceFile]:
        """Return the files with the fetched traces."""
        return self._spool.files()

    def fetch(self, trace_ids: Sequence[str], progress: FetchProgress | None = None) -> list[Loss]:
        """Fetch traces one by one, each only once, and return what is missing of them."""
        losses = []
        trace_ids = [each for each in dict.fromkeys(trace_ids) if each not in self._asked_for]
        self._asked_for.update(trace_ids)
        for number, trace_id in enumerate(trace_ids):
            if progress is not None:
                progress(number, len(trace_ids))
            if self._spool.size > _MAX_BYTES:
                left = len(trace_ids) - number
                limit = f"{_MAX_BYTES >> 20} MB"
                losses.append(Loss("partial_trace", f"{left} traces exceed the limit of {limit}"))
                break
            response = self.connection.backend.trace(trace_id)
            if response is None:
                gone = f"{trace_id} was found by the search, but is gone"
                losses.append(Loss("partial_trace", gone))
            else:
                self._spool.add(response)
        return losses


def read_with_causes(fetchers: Sequence[TraceFetcher], opened: OpenFiles) -> Reading:
    """Return the fetched traces and those of files, with their causes in others.

    Traces of causes are fetched as well, but are not in the result.

    Args:
        fetchers: The backends.
        opened: Files to read together with the fetched traces.

    Raises:
        SourceError: A backend returned something that cannot be read, or no file can be read.
    """
    reading = _read(fetchers, opened)
    asked_for = reading.trace_ids
    fetched = set(asked_for)
    for _ in range(_CAUSE_ROUNDS):
        cause_traces = missing_cause_traces(reading, fetched)[:_MAX_CAUSE_TRACES]
        if not cause_traces:
            break
        fetched.update(cause_traces)
        for fetcher in fetchers:
            fetcher.fetch(cause_traces)
        reading = _read(fetchers, opened)
    return only_traces(reading, asked_for)


def _read(fetchers: Sequence[TraceFetcher], opened: OpenFiles) -> Reading:
    fetched = [file for fetcher in fetchers for file in fetcher.files()]
    files = [*fetched, *opened.files]
    if not files and not opened.unopened:
        return Reading([], {}, {}, ())
    try:
        reading = read_files(files, unopened=opened.unopened)
    except SourceError as error:
        if not fetched:
            raise
        problem = error.problem if isinstance(error, NoTraceError) else str(error)
        location = next(each.connection.location for each in fetchers if each.files())
        raise SourceError(
            f"{location.clean(problem)}; {location.url_setting} must be the address in front"
            " of /api"
        ) from None
    for fetcher in fetchers:
        reading = _cleaned(reading, fetcher.connection.location)
    return reading


def _cleaned(reading: Reading, location: BackendLocation) -> Reading:
    """Remove sent headers from the losses, which may repeat words of the backend."""

    def clean(losses: Losses) -> Losses:
        return tuple(loss._replace(detail=location.clean(loss.detail)) for loss in losses)

    return reading._replace(
        traces=[replace(trace, losses=clean(trace.losses)) for trace in reading.traces],
        losses=clean(reading.losses),
    )
