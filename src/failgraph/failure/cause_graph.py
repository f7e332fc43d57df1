"""Cause edges as plain ids. Each failure has at most one cause, so a graph is a map from id to cause id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

Causes = Mapping[str, "str | None"]


def chain(causes: Causes, start: str | None) -> list[str]:
    """The ids from `start` down to its root cause; ends where a cause is not in the map, and before a repeated id."""
    seen: dict[str, None] = {}
    while start is not None and start in causes and start not in seen:
        seen[start] = None
        start = causes[start]
    return list(seen)


def closing_edges(causes: Causes) -> Iterator[str]:
    """For each cycle, the id whose cause edge closes it when the map is walked in its own order."""
    finished: set[str] = set()
    for first in causes:
        path: dict[str, None] = {}
        last, here = first, causes[first]
        path[first] = None
        while last not in finished:
            if here is None or here not in causes or here in finished:
                break
            if here in path:
                yield last
                break
            path[here] = None
            last, here = here, causes[here]
        finished.update(path)


def root_cause(causes: Causes, failure_id: str | None, order: Iterable[str]) -> str | None:
    """The last id on the own failure's chain, else the first in `order` (earliest first) that has no cause."""
    own = chain(causes, failure_id)
    if own:
        return own[-1]
    return next((id_ for id_ in order if causes.get(id_) is None), None)
