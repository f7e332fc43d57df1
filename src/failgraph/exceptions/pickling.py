"""The explicit causes of a failure as flat, plain data.

Pickle drops `__cause__`, and a long chain must not recurse. A foreign cause travels as bytes of its
own, so that one that cannot be rebuilt in the other process costs no more than itself: there a
`LostCauseError` stands for it, with its type, message and HTTP status.
"""

from __future__ import annotations

import builtins
import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from failgraph.exceptions.cause_chain import CARRIED_CAUSE, explicit_cause, members
from failgraph.exceptions.foreign_errors import LostCauseError, http_status_of, message_of
from failgraph.text import truncate

State = dict[str, Any]
_GROUPS = {
    name: cls
    for name in ("ExceptionGroup", "BaseExceptionGroup")
    if (cls := getattr(builtins, name, None)) is not None
}
_MAX_MESSAGE = 2000
_pickling = threading.local()


class ExceptionNode(NamedTuple):
    """One exception of the graph. Pickles hold it as a plain tuple.

    Attributes:
        failure: Class and state of a failure; None for a foreign exception.
        foreign: The pickle of a foreign exception, or None if it cannot be pickled.
        group: The class name of a group of Python's own, or None.
        stand_in: The arguments of the `LostCauseError` that replaces it if need be.
        cause: The position of its cause in the list of all nodes, or None.
        members: The positions of a group's members.
    """

    failure: tuple[type[BaseException], State] | None
    foreign: bytes | None
    group: str | None
    stand_in: tuple[str, str, int | None]
    cause: int | None
    members: tuple[int, ...]


def flatten(
    error: BaseException, state_of: Callable[[BaseException], State | None]
) -> list[tuple[Any, ...]]:
    """Return the graph of explicit causes below `error` as plain tuples, `error` first.

    Args:
        error: The failure to be pickled.
        state_of: Returns the state of a failure of ours, None for any other exception.
    """
    exceptions: list[BaseException] = []
    positions: dict[int, int] = {}

    def position_of(each: BaseException) -> int:
        if id(each) not in positions:
            positions[id(each)] = len(exceptions)
            exceptions.append(each)
        return positions[id(each)]

    position_of(error)
    nodes: list[tuple[Any, ...]] = []
    while len(nodes) < len(exceptions):
        current = exceptions[len(nodes)]
        below = explicit_cause(current)
        cause = None if below is None else position_of(below)
        inner = tuple(position_of(member) for member in members(current))
        node = _node(current, cause, inner, state_of(current), is_first=not nodes)
        nodes.append(tuple(node))
    return nodes


def _node(
    error: BaseException,
    cause: int | None,
    inner: tuple[int, ...],
    state: State | None,
    *,
    is_first: bool,
) -> ExceptionNode:
    if is_first or state is not None:
        failure = None if state is None else (type(error), state)
        return ExceptionNode(failure, None, None, ("", "", None), cause, inner)
    if isinstance(error, LostCauseError):
        original = (error.exception_type, error.message, error.http_status)
        return ExceptionNode(None, None, None, original, cause, inner)
    name = type(error).__name__
    stand_in = (name, truncate(message_of(error), _MAX_MESSAGE), http_status_of(error))
    if inner:
        group = name if _GROUPS.get(name) is type(error) else None
        return ExceptionNode(None, None, group, stand_in, cause, inner)
    return ExceptionNode(None, _pickled(error), None, stand_in, cause, ())


def restore(
    error: BaseException,
    flat: Sequence[tuple[Any, ...]],
    make_failure: Callable[[type[BaseException], State], BaseException],
) -> None:
    """Give `error` the causes that `flatten` described.

    Args:
        error: The failure that the first node stands for.
        flat: The nodes.
        make_failure: Builds a failure of ours from its class and state.
    """
    nodes = [ExceptionNode(*each) for each in flat]
    made: dict[int, BaseException] = {0: error}
    for position in _members_first(nodes):
        node = nodes[position]
        if position == 0:
            continue
        if node.failure:
            made[position] = make_failure(*node.failure)
        elif node.members:
            inner = [made[member] for member in node.members if member in made]
            made[position] = _group(node, inner)
        else:
            made[position] = _unpickled(node)
    for position, node in enumerate(nodes):
        if node.cause is not None:
            made[position].__cause__ = made[node.cause]
    setattr(error, CARRIED_CAUSE, error.__cause__)


def _members_first(nodes: Sequence[ExceptionNode]) -> list[int]:
    """Return the positions of all nodes, each after those of its members, if they form no ring."""
    ordered: list[int] = []
    seen: set[int] = set()
    stack = [(position, False) for position in reversed(range(len(nodes)))]
    while stack:
        position, is_opened = stack.pop()
        if is_opened:
            ordered.append(position)
        elif position not in seen:
            seen.add(position)
            stack.append((position, True))
            stack.extend((member, False) for member in reversed(nodes[position].members))
    return ordered


def _group(node: ExceptionNode, inner: list[BaseException]) -> BaseException:
    try:
        if node.group in _GROUPS:
            group: BaseException = _GROUPS[node.group](node.stand_in[1], inner)
            return group
    except (TypeError, ValueError):
        pass  # a member was replaced by a stand-in that this class of group refuses
    stand_in = LostCauseError(*node.stand_in)
    stand_in.exceptions = tuple(inner)  # type: ignore[attr-defined]
    return stand_in


def _pickled(error: BaseException) -> bytes | None:
    # A foreign exception that holds a failure that it caused would go round for ever.
    if getattr(_pickling, "active", False):
        return None
    _pickling.active = True
    try:
        return pickle.dumps(error)
    except Exception:  # noqa: BLE001 - an object of the user may raise anything here
        return None
    finally:
        _pickling.active = False


def _unpickled(node: ExceptionNode) -> BaseException:
    try:
        error = None if node.foreign is None else pickle.loads(node.foreign)
    except Exception:  # noqa: BLE001 - an object of the user may raise anything here
        error = None
    return error if isinstance(error, BaseException) else LostCauseError(*node.stand_in)
