"""Find the newest traces by searches whose responses are limited and in no order."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from failgraph.backends.search_windows import SearchPage, SearchResult, newest_traces

pytestmark = pytest.mark.once

PAGE = 3
SMALLEST = 4


class Backend:
    """Has traces that match at some times, and returns them in an order of its own."""

    def __init__(self, moments: dict[str, list[int]], order: list[str]) -> None:
        self.moments, self.order, self.asked = moments, order, 0

    def __call__(self, start: int, end: int) -> SearchPage:
        self.asked += 1
        inside = [key for key in self.order if any(start <= at <= end for at in self.moments[key])][
            :PAGE
        ]
        return SearchPage({key: min(self.moments[key]) for key in inside}, len(inside) >= PAGE)


@given(st.data())
def test_no_trace_is_missed(data):
    """Whatever the order, the result is complete, has the newest traces, or is truncated."""
    moments = data.draw(
        st.dictionaries(st.text("abcdef", min_size=3, max_size=3), st.integers(0, 300), max_size=30)
    )
    # Traces with different starts are in different windows of the smallest size.
    spread = {key: [start * 16] for key, start in moments.items()}
    limit = data.draw(st.integers(1, 40))
    result = newest_traces(
        Backend(spread, data.draw(st.permutations(list(spread)))), 0, 5000, limit, SMALLEST
    )
    times = sorted((at for (at,) in spread.values()), reverse=True)
    shown = [spread[key][0] for key in result.trace_ids]
    assert len(shown) <= limit
    if not result.is_truncated:
        assert shown == times[:limit]
        assert result.has_older or len(times) <= limit
    else:
        assert max(map(times.count, times)) >= PAGE
        assert set(shown) == set(times) or len(shown) == limit


def test_a_trace_in_many_windows_is_found_once():
    """A long trace matches in many windows."""
    backend = Backend({"a": [0, 500, 900], "b": [1], "c": [400]}, ["b", "a", "c"])
    assert newest_traces(backend, 0, 1000, 10, SMALLEST).trace_ids == ["c", "b", "a"]


def test_a_backend_that_always_has_more():
    """The number of searches is limited, and the result is marked as truncated."""
    asked = []

    def search(start: int, end: int) -> SearchPage:
        asked.append((start, end))
        return SearchPage({"a": 5}, is_full=True)

    assert newest_traces(search, 0, 1 << 20, 1, 1 << 10) == SearchResult(
        ["a"], has_older=True, is_truncated=True
    )
    assert len(asked) == 11


def test_a_backend_that_ignores_windows():
    """Every response is full and the same: the search ends with a truncated result."""
    asked = []

    def search(*window):
        asked.append(window)
        return SearchPage({"a": 1, "b": 2}, is_full=True)

    assert newest_traces(search, 0, 1 << 42, 100, 1) == SearchResult(
        ["b", "a"], has_older=True, is_truncated=True
    )
    assert len(asked) < 2000
