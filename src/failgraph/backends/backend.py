"""What a backend has to do; each is a module beside this one."""

from __future__ import annotations

from typing import Protocol

from failgraph.backends.response import Response
from failgraph.backends.search_windows import SearchResult
from failgraph.traces.query import Query


class Backend(Protocol):
    """A backend that can be asked for traces.

    Every method raises SourceError, with a message that says what to do, if there is no usable
    response.

    Attributes:
        search_delay: A sentence for a search that finds nothing, if new traces take a while to be
            found; otherwise None.
    """

    search_delay: str | None

    def trace(self, trace_id: str) -> Response | None:
        """Return a response that holds the trace, or None if the backend does not have it."""

    def search(self, query: Query, since: int, until: int, limit: int) -> SearchResult:
        """Return the newest traces that may match a query; every trace that matches is a candidate.

        Args:
            query: What to look for.
            since: Start of the time to search, in ns since the epoch.
            until: End of the time to search, in ns since the epoch.
            limit: The number of traces.
        """

    def durations(self, since: int, until: int, limit: int) -> dict[str, int | None] | None:
        """Return the durations of all traces between two times, or None if there are too many.

        Args:
            since: Start of the time, in ns since the epoch.
            until: End of the time, in ns since the epoch.
            limit: The largest number of traces.

        Returns:
            Durations in ns by trace id, None for an unknown one; or None if there are more than
            `limit` traces.
        """
