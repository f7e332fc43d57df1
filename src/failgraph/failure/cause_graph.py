"""Follow cause edges between plain ids.

Each failure has at most one cause, so a graph is a map from an id to the id of its cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

Causes = Mapping[str, "str | None"]


def chain(causes: Causes, start: str | None) -> list[str]:
    """Return the ids from `start` down to its root cause.

    The chain ends early at a cause that is not in the map, and before an id that it already holds.
    """
    seen: dict[str, None] = {}
    while start is not None and start in causes and start not in seen:
        seen[start] = None
        start = causes[start]
    return list(seen)


def closing_edges(causes: Causes) -> Iterator[str]:
    """Yield one id per cycle: the one whose edge closes it when the map is walked in its own order.

    Linear in the number of ids, without recursion.
    """
    finished: set[str] = set()
    for first in causes:
        path = {first: None}
        effect, cause = first, causes[first]
        while effect not in finished:
            if cause is None or cause not in causes or cause in finished:
                break
            if cause in path:
                yield effect
                break
            path[cause] = None
            effect, cause = cause, causes[cause]
        finished.update(path)


def root_cause(causes: Causes, failure_id: str | None, order: Iterable[str]) -> str | None:
    """Return the end of the own failure's chain, else the first id that has no cause, or None.

    Args:
        causes: Cause id by id.
        failure_id: The own failure. None, or an id that is not in `causes`, has no chain.
        order: The ids to try without such a chain, earliest first.
    """
    own_chain = chain(causes, failure_id)
    if own_chain:
        return own_chain[-1]
    return next((id_ for id_ in order if causes.get(id_) is None), None)
