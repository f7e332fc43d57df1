"""Fetch traces of a backend, and read them together with a journal and with their causes."""

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
from failgraph.readers.reading import read_files
from failgraph.readers.source import SourceFile

_MAX_BYTES = 1 << 30  # of all traces together
_CAUSE_ROUNDS = 3  # how often traces of causes are fetched: each may name another
_MAX_CAUSE_TRACES = 32  # fetched in one round

FetchProgress = Callable[[int, int], None]
"""Called with the traces fetched and those to fetch; with 0 and 0 while the backend is searched."""


class TraceFetcher:
    """Fetches traces of one backend, and reads them together with a journal.

    Args:
        connection: The backend.
        spool: Holds the fetched traces.
        journal: The files of a journal, which may hold other failures of the same traces.
    """

    def __init__(
        self, connection: Connection, spool: TraceSpool, journal: Sequence[SourceFile]
    ) -> None:
        self.connection = connection
        self.journal = journal
        self._spool = spool

    def fetch(self, trace_ids: Sequence[str], progress: FetchProgress | None = None) -> list[Loss]:
        """Fetch traces one by one, and return what is missing of them."""
        losses = []
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

    def read_with_causes(self, trace_ids: Sequence[str]) -> Reading:
        """Return these traces with their causes in others, which are fetched as well.

        Raises:
            SourceError: The backend returned something that cannot be read.
        """
        fetched = set(trace_ids)
        reading = self._read()
        for _ in range(_CAUSE_ROUNDS):
            cause_traces = missing_cause_traces(reading, fetched)[:_MAX_CAUSE_TRACES]
            if not cause_traces:
                break
            fetched.update(cause_traces)
            self.fetch(cause_traces)
            reading = self._read()
        return only_traces(reading, trace_ids)

    def _read(self) -> Reading:
        location = self.connection.location
        files = [*self._spool.files(), *self.journal]
        try:
            reading = read_files(files) if files else Reading([], {}, {}, ())
        except SourceError as error:
            raise SourceError(
                f"{location.clean(str(error))}; {location.url_setting} must be the address in front"
                " of /api"
            ) from None
        return _cleaned(reading, location)


def _cleaned(reading: Reading, location: BackendLocation) -> Reading:
    """Remove sent headers from the losses, which may repeat words of the backend."""

    def clean(losses: Losses) -> Losses:
        return tuple(loss._replace(detail=location.clean(loss.detail)) for loss in losses)

    return reading._replace(
        traces=[replace(trace, losses=clean(trace.losses)) for trace in reading.traces],
        losses=clean(reading.losses),
    )
