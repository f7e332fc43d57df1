"""Find the newest traces by searches whose responses are limited and in no order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

_MAX_SEARCHES: Final = 1000
"""Searches besides one per wanted trace; a bound for a backend that ignores the time window."""


class SearchPage(NamedTuple):
    """The response to a search of one time window.

    Attributes:
        starts: Start in ns since the epoch by trace id; 0 if unknown.
        is_full: True if there may be more traces: the response is as long as it may be.
    """

    starts: Mapping[str, int]
    is_full: bool


class SearchResult(NamedTuple):
    """The newest traces of a search.

    Attributes:
        trace_ids: Newest first.
        has_older: True if older traces were left out.
        is_truncated: True if one of the smallest windows holds more traces than a response.
    """

    trace_ids: list[str]
    has_older: bool
    is_truncated: bool


def newest_traces(
    search: Callable[[int, int], SearchPage], since: int, until: int, limit: int, smallest: int
) -> SearchResult:
    """Return the newest traces between two times.

    A window with a full response is searched again in two halves, so that no trace is missed in
    whatever order a backend responds. Ends even if every response is full.

    Args:
        search: Searches a window, given by its start and end.
        since: Start of the time, in ns since the epoch.
        until: End of the time, in ns since the epoch.
        limit: The number of traces.
        smallest: Length in ns of a window that is not divided any more.
    """
    pending = [(since, until)]
    starts: dict[str, int] = {}
    is_truncated = False
    for _ in range(_MAX_SEARCHES + limit):
        if not pending or len(starts) >= limit:
            break
        start, end = pending.pop()
        page = search(start, end)
        if page.is_full and end - start > smallest:
            middle = (start + end) // 2
            pending += [(start, middle), (middle, end)]
            continue
        is_truncated |= page.is_full
        starts.update(page.starts)
    ordered = sorted(starts, key=lambda trace_id: (-starts[trace_id], trace_id))
    return SearchResult(ordered[:limit], bool(pending) or len(ordered) > limit, is_truncated)
