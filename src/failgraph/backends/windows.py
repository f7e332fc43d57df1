"""The newest traces that a search finds, where each of its answers is limited and none need be in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

_MOST_SEARCHES: Final = 1000
"""Windows that are searched, besides one for each trace that is wanted; a backend may pay no heed to them."""


class Page(NamedTuple):
    """What a search of one window of time gave."""

    starts: Mapping[str, int]
    """Trace id to start in ns since the epoch; 0 where unknown."""
    full: bool
    """Whether there may be more: the answer was as long as it may be."""


class Found(NamedTuple):
    """The newest traces of a search."""

    trace_ids: list[str]
    """Newest first."""
    more: bool
    """Whether there are older ones that were left out."""
    crowded: bool
    """Whether a window that is not divided any more holds more than an answer can."""


def length(start: int, end: int) -> int | None:
    """How long a trace took; None where its times say nothing."""
    return end - start if 0 < start <= end else None


def newest(
    search: Callable[[int, int], Page], since: int, until: int, limit: int, smallest: int
) -> Found:
    """The newest `limit` traces between two times in ns, newest windows first.

    A window whose answer is full is searched again in two halves, down to `smallest` ns; so nothing is passed over
    whatever the order of the answers. It ends also where each answer is full.
    """
    pending = [(since, until)]
    starts: dict[str, int] = {}
    crowded = False
    for _ in range(_MOST_SEARCHES + limit):
        if not pending or len(starts) >= limit:
            break
        start, end = pending.pop()
        page = search(start, end)
        if page.full and end - start > smallest:
            middle = (start + end) // 2
            pending += [(start, middle), (middle, end)]
            continue
        crowded |= page.full
        starts.update(page.starts)
    ordered = sorted(starts, key=lambda trace_id: (-starts[trace_id], trace_id))
    return Found(ordered[:limit], bool(pending) or len(ordered) > limit, crowded)
