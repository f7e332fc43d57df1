"""The explicit causes of a failure as flat data: pickle drops `__cause__`, and a long chain must not recurse.

A foreign cause travels as bytes of its own, so that one that cannot be rebuilt elsewhere costs no more than itself:
there a `LostCauseError` stands for it, with its type, message and HTTP status.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from failgraph.exceptions.cause_chain import (
    CARRIED_CAUSE,
    attribute,
    explicit_cause,
    foreign_status,
    members,
)
from failgraph.text import cut, safe_str

_GROUPS = {
    name: cls
    for name in ("ExceptionGroup", "BaseExceptionGroup")
    if (cls := getattr(builtins, name, None)) is not None
}
_inside = threading.local()


class LostCauseError(Exception):
    """Stands for a foreign exception that could not be rebuilt in this process, or for a group of its own class."""

    def __init__(self, exception_type: str, message: str, http_status: int | None = None) -> None:
        super().__init__(exception_type, message, http_status)
        self.exception_type = exception_type
        self.message = message
        self.http_status = http_status

    def __str__(self) -> str:
        return f"{self.exception_type}: {self.message}"


class Node(NamedTuple):
    """One exception of the graph; `cause` and `members` are places in the list of all."""

    failure: tuple[type[BaseException], dict[str, Any]] | None
    """Class and state of a failure of ours."""
    foreign: bytes | None
    """A foreign exception, where it can be pickled."""
    group: str | None
    """Name of a group's class, where it is one of Python's own."""
    lost: tuple[str, str, int | None]
    """What a stand-in says."""
    cause: int | None
    members: tuple[int, ...]


def flatten(
    error: BaseException, state_of: Callable[[BaseException], dict[str, Any] | None]
) -> list[Node]:
    """The graph of explicit causes from `error` on, itself first; `state_of` gives the state of a failure of ours."""
    found: list[BaseException] = []
    places: dict[int, int] = {}

    def place(each: BaseException) -> int:
        if id(each) not in places:
            places[id(each)] = len(found)
            found.append(each)
        return places[id(each)]

    place(error)
    nodes: list[Node] = []
    while len(nodes) < len(found):
        here = found[len(nodes)]
        below = explicit_cause(here)
        cause = None if below is None else place(below)
        inner = tuple(place(member) for member in members(here))
        nodes.append(_node(here, cause, inner, state_of(here), first=not nodes))
    return nodes


def _node(
    error: BaseException,
    cause: int | None,
    inner: tuple[int, ...],
    state: dict[str, Any] | None,
    *,
    first: bool,
) -> Node:
    if first or state is not None:
        return Node(
            None if state is None else (type(error), state),
            None,
            None,
            ("", "", None),
            cause,
            inner,
        )
    name = type(error).__name__
    message = attribute(error, "message")
    lost = (
        name,
        cut(message if isinstance(message, str) else safe_str(error), 2000),
        foreign_status(error),
    )
    if inner:
        return Node(
            None, None, name if _GROUPS.get(name) is type(error) else None, lost, cause, inner
        )
    return Node(None, _pickled(error), None, lost, cause, ())


def restore(
    error: BaseException,
    nodes: list[Node],
    make: Callable[[type[BaseException], dict[str, Any]], BaseException],
) -> None:
    """Give `error` the causes that `nodes` describe; `make` builds a failure of ours from its class and state."""
    made: dict[int, BaseException] = {0: error}
    for place, node in enumerate(nodes):
        if place and not node.members:
            made[place] = make(*node.failure) if node.failure is not None else _unpickled(node)
    # A nested group stands behind the group that holds it.
    for place in range(len(nodes) - 1, 0, -1):
        node = nodes[place]
        if node.members:
            inner = [made[member] for member in node.members if member in made]
            made[place] = make(*node.failure) if node.failure is not None else _group(node, inner)
    for place, node in enumerate(nodes):
        if node.cause is not None:
            made[place].__cause__ = made[node.cause]
    setattr(error, CARRIED_CAUSE, error.__cause__)


def _group(node: Node, inner: list[BaseException]) -> BaseException:
    try:
        if node.group in _GROUPS:
            group: BaseException = _GROUPS[node.group](node.lost[1], inner)
            return group
    except (TypeError, ValueError):
        pass  # a member could not be rebuilt as what it was
    stand_in = LostCauseError(*node.lost)
    stand_in.exceptions = tuple(inner)  # type: ignore[attr-defined]
    return stand_in


def _pickled(error: BaseException) -> bytes | None:
    import pickle  # few processes ever hand a failure to another

    # A foreign exception that holds a failure that it caused would go round for ever.
    if getattr(_inside, "pickling", False):
        return None
    _inside.pickling = True
    try:
        return pickle.dumps(error)
    except Exception:  # noqa: BLE001 - an object of the user's may raise anything here
        return None
    finally:
        _inside.pickling = False


def _unpickled(node: Node) -> BaseException:
    import pickle

    try:
        error = pickle.loads(node.foreign) if node.foreign is not None else None
    except Exception:  # noqa: BLE001 - likewise
        error = None
    return error if isinstance(error, BaseException) else LostCauseError(*node.lost)
