"""Following cause edges: chains, the edges that close a cycle, and the root cause."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from failgraph.failure import cause_graph

IDS = "abcdefgh"
CAUSES = st.dictionaries(st.sampled_from(IDS), st.none() | st.sampled_from(IDS))


def ends(causes: dict[str, str | None], start: str) -> bool:
    """Return True if the walk from `start` leaves the map, so no cycle is below it."""
    current: str | None = start
    for _ in range(len(causes) + 1):
        if current is None or current not in causes:
            return True
        current = causes[current]
    return False


class Counted(dict):
    """A map that counts its look-ups."""

    lookups = 0

    def __getitem__(self, key):
        self.lookups += 1
        return super().__getitem__(key)

    def __contains__(self, key):
        self.lookups += 1
        return super().__contains__(key)


@pytest.mark.parametrize(
    ("causes", "start", "expected"),
    [
        ({}, None, []),
        ({}, "a", []),
        ({"a": None}, None, []),
        ({"a": None}, "a", ["a"]),
        ({"a": "b", "b": "c", "c": None, "d": "c"}, "a", ["a", "b", "c"]),
        ({"a": "gone"}, "a", ["a"]),
        ({"a": "a"}, "a", ["a"]),
        ({"r": "a", "a": "b", "b": "a"}, "r", ["r", "a", "b"]),
    ],
)
def test_a_chain_runs_from_effect_to_root_cause(causes, start, expected):
    """A chain starts at the effect, ends at a cause that is not in the map, and repeats no id."""
    assert cause_graph.chain(causes, start) == expected


@pytest.mark.parametrize(
    ("causes", "cycles"),
    [
        ({}, []),
        ({"a": None, "b": "a", "c": "a"}, []),
        ({"a": "gone"}, []),
        ({"a": "a"}, [{"a"}]),
        ({"a": "b", "b": "a"}, [{"a", "b"}]),
        ({"r": "a", "a": "b", "b": "a", "s": "b"}, [{"a", "b"}]),
        ({"a": "a", "b": "c", "c": "d", "d": "b", "e": None}, [{"a"}, {"b", "c", "d"}]),
    ],
)
def test_each_cycle_is_closed_by_one_edge_of_its_own(causes, cycles):
    """A cycle gives one closing edge, and it is an edge of that cycle."""
    closing = list(cause_graph.closing_edges(causes))
    assert len(closing) == len(cycles)
    for id_, cycle in zip(closing, cycles, strict=True):
        assert id_ in cycle


@settings(deadline=None)
@given(CAUSES)
def test_without_the_closing_edges_there_is_no_cycle(causes):
    """Without the closing edges there is no cycle; with any one of them there is."""
    closing = list(cause_graph.closing_edges(causes))
    cleared = {id_: None if id_ in closing else cause for id_, cause in causes.items()}
    assert all(ends(cleared, id_) for id_ in cleared)
    assert bool(closing) is not all(ends(causes, id_) for id_ in causes)
    for spared in closing:
        kept = {**cleared, spared: causes[spared]}
        assert not ends(kept, spared)


@pytest.mark.parametrize("direction", [1, -1], ids=["causes first", "effects first"])
@pytest.mark.parametrize("shape", ["chain", "ring", "star"])
def test_finding_cycles_is_linear(shape, direction):
    """Ten times the ids need about ten times the look-ups, whatever the shape and order."""

    def lookups(size: int) -> int:
        causes = {number: number - 1 if number else None for number in range(size)}
        if shape == "ring":
            causes[0] = size - 1
        if shape == "star":
            causes = {number: 0 if number else None for number in range(size)}
        counted = Counted(list(causes.items())[::direction])
        assert len(list(cause_graph.closing_edges(counted))) == (shape == "ring")
        return counted.lookups

    assert lookups(20_000) <= 11 * lookups(2_000)


def test_a_chain_of_100_000_is_walked_without_recursion():
    """A long chain does not reach the recursion limit."""
    causes = {str(number): str(number - 1) if number else None for number in range(100_000)}
    assert len(cause_graph.chain(causes, "99999")) == 100_000
    assert cause_graph.root_cause(causes, "99999", causes) == "0"


@pytest.mark.parametrize(
    ("causes", "failure_id", "order", "expected"),
    [
        ({"a": None, "b": "c", "c": None}, "b", "abc", "c"),
        ({"a": None, "b": None, "c": "a"}, None, "cba", "b"),
        ({"a": None, "b": None}, "gone", "ba", "b"),
        ({"a": "b", "b": "a"}, None, "ab", None),
        ({}, None, "", None),
    ],
    ids=[
        "end of the own chain",
        "earliest without a cause",
        "own failure unknown",
        "only a cycle",
        "nothing",
    ],
)
def test_the_root_cause(causes, failure_id, order, expected):
    """The root cause ends the own failure's chain, else it is the first event without a cause."""
    assert cause_graph.root_cause(causes, failure_id, order) == expected
