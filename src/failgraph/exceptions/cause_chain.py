"""The explicit causes of an exception: which of them are failures, and which failure caused which.

Only `__cause__` counts (`raise … from …`), never `__context__`. An exception group has no event id
of its own: its members are the failures, and the cause of `F from group` is the first member that
is a failure, else the first failure among the causes of the members; a group there is opened too.
Groups are recognized by their attribute `exceptions`, since Python 3.10 has no such type.
Everything here is iterative, so that a long chain cannot exhaust the stack, and a ring of causes
ends where it meets itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from failgraph.exceptions.foreign_errors import safe_getattr
from failgraph.failure.boundary import parse_boundary
from failgraph.failure.records import FailureBoundary
from failgraph.text import bounded_id, escape_surrogates, safe_str

BoundaryFor = Callable[[BaseException], "FailureBoundary | None"]
"""Returns the boundary of a failure exception, or None if it has none and so cannot be recorded."""

RECORDED_ID = "_failgraph_event_id"
"""Attribute of a foreign exception that was recorded as a failure: its event id, a `str`."""

CARRIED_CAUSE = "_carried_cause"
"""Attribute of an unpickled failure: its explicit cause. A process pool overwrites `__cause__`."""

UNKNOWN_BOUNDARY = "_unknown_boundary"
"""Attribute of a failure that was given a boundary that does not exist: its text."""

_MAX_UNKNOWN = 200  # characters

# What `concurrent.futures` and `multiprocessing` put in place of the cause of a worker's exception.
_REMOTE_TRACEBACKS = ("_RemoteTraceback", "RemoteTraceback")


class Cause(NamedTuple):
    """What caused an exception.

    Attributes:
        failure: The next failure in its explicit chain, or None.
        foreign: The nearest exception before that one that is no failure, or None.
    """

    failure: BaseException | None
    foreign: BaseException | None


class ChainedFailure(NamedTuple):
    """A failure exception and its place in the chain.

    Attributes:
        error: The exception.
        cause_id: The event id of the failure that caused it, or None.
        foreign: The nearest foreign exception between the two, or None.
    """

    error: BaseException
    cause_id: str | None
    foreign: BaseException | None


def is_failure(error: BaseException) -> bool:
    """Return True if `error` is an `NgFailureEvent`, ours or Gym's.

    The class is recognized by its name, so that nothing of Gym is imported.
    """
    return any(cls.__name__ == "NgFailureEvent" for cls in type(error).__mro__)


def is_cancellation(error: BaseException) -> bool:
    """Return True if `error` is a cancellation by the caller, of any event loop or pool."""
    return any(cls.__name__ == "CancelledError" for cls in type(error).__mro__)


def recorded_id(error: BaseException) -> str | None:
    """Return the event id of a foreign exception that was recorded as a failure, or None."""
    value = getattr(error, "__dict__", {}).get(RECORDED_ID)
    return value if isinstance(value, str) else None


def event_id(error: BaseException) -> str | None:
    """Return the event id that `error` is written under, or None if it has none."""
    value = _failure_field(error, "event_id") if is_failure(error) else recorded_id(error)
    return None if value is None else bounded_id(escape_surrogates(safe_str(value)))


def named_boundary(error: BaseException) -> FailureBoundary | None:
    """Return the boundary that the failure `error` names itself, or None."""
    return parse_boundary(_failure_field(error, "boundary"))


def unknown_boundary(error: BaseException) -> str | None:
    """Return the start of the text that `error` names as its boundary if it is none, or None."""
    value = _failure_field(error, "boundary")
    if parse_boundary(value) is not None:
        return None
    if value is None:
        value = safe_getattr(error, UNKNOWN_BOUNDARY)
    return None if value is None else safe_str(value)[:_MAX_UNKNOWN] or None


def gym_record(error: BaseException) -> object:
    """Return the record that a failure of Gym's own class makes of itself, or None."""
    try:
        return error.to_record()  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - another version of Gym may raise anything
        return None


def _failure_field(error: BaseException, name: str) -> Any:
    """Return a field of a failure; Gym's own class may have it only in its record."""
    value = safe_getattr(error, name)
    if value is None and safe_getattr(error, "event_id") is None:
        return safe_getattr(gym_record(error), name)
    return value


def explicit_cause(error: BaseException) -> BaseException | None:
    """Return the `__cause__` of `error`; behind a process pool, the one from before the pool."""
    cause = error.__cause__
    if type(cause).__name__ in _REMOTE_TRACEBACKS:
        carried = safe_getattr(error, CARRIED_CAUSE)
        return carried if isinstance(carried, BaseException) else None
    return cause


def members(error: BaseException) -> tuple[BaseException, ...]:
    """Return the members of an exception group; empty for any other exception."""
    inner = safe_getattr(error, "exceptions")
    if isinstance(inner, (tuple, list)) and all(isinstance(each, BaseException) for each in inner):
        return tuple(inner)
    return ()


def leaf_exceptions(error: BaseException) -> list[BaseException]:
    """Return the exceptions of a group and of nested groups, in order; `[error]` for no group."""
    stack, seen, leaves = [error], set(), []
    while stack:
        current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        inner = members(current)
        if inner:
            stack.extend(reversed(inner))
        else:
            leaves.append(current)
    return leaves


def carries_failure(error: BaseException) -> bool:
    """Return True if `error`, one of its explicit causes or a member of a group is a failure."""
    return any(is_failure(each) for each in _reachable(error))


def failures_without_boundary(
    error: BaseException, boundary_for: BoundaryFor
) -> list[BaseException]:
    """Return the failures that `error` is or carries and that cannot be recorded."""
    return [each for each in _reachable(error) if is_failure(each) and boundary_for(each) is None]


def outermost_failure(
    error: BaseException, boundary_for: BoundaryFor, *, with_recorded: bool = False
) -> BaseException | None:
    """Return the first failure of the explicit chain that has a boundary, or None.

    Args:
        error: The outer end of the chain. A group counts as its first failure.
        boundary_for: Gives each failure its boundary.
        with_recorded: Also take a foreign exception that was recorded as a failure.
    """

    def counts(candidate: BaseException) -> bool:
        if _is_placed(candidate, boundary_for):
            return True
        return with_recorded and recorded_id(candidate) is not None

    seen: set[int] = set()
    for current in _explicit_chain(error):
        found = next(filter(counts, _open_group(current, seen)), None)
        if found is not None:
            return found
    return None


def cause_of(error: BaseException, boundary_for: BoundaryFor) -> Cause:
    """Return what caused `error`, by its explicit chain."""
    own_id = event_id(error)

    def counts(candidate: BaseException) -> bool:
        known = _is_placed(candidate, boundary_for) or recorded_id(candidate) is not None
        return known and event_id(candidate) != own_id

    foreign: BaseException | None = None
    seen = {id(error)}
    for current in _explicit_chain(explicit_cause(error)):
        if current is error:
            break
        found = next(filter(counts, _open_group(current, seen)), None)
        if found is not None:
            return Cause(found, foreign)
        if foreign is None and not is_failure(current):
            foreign = current
    return Cause(None, foreign)


def failures_in_chain(error: BaseException, boundary_for: BoundaryFor) -> list[ChainedFailure]:
    """Return the failures that `error` is or carries: each id once, causes before effects."""
    by_id: dict[str, BaseException] = {}
    for each in _reachable(error):
        if _is_placed(each, boundary_for):
            by_id.setdefault(event_id(each) or "", each)
    ordered: dict[str, ChainedFailure] = {}
    for start in by_id:
        path: dict[str, ChainedFailure] = {}
        current: str | None = start
        while current in by_id and current not in ordered and current not in path:
            failure, foreign = cause_of(by_id[current], boundary_for)
            cause_id = None if failure is None else event_id(failure)
            path[current] = ChainedFailure(by_id[current], cause_id, foreign)
            current = cause_id
        if current in path:
            # The edge that closes a ring is left out.
            last = list(path)[-1]
            path[last] = path[last]._replace(cause_id=None)
        ordered.update(reversed(path.items()))
    return list(ordered.values())


def _is_placed(error: BaseException, boundary_for: BoundaryFor) -> bool:
    return is_failure(error) and boundary_for(error) is not None


def _explicit_chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield `error` and its explicit causes, each once; groups are not opened."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = explicit_cause(error)


def _with_members(error: BaseException, seen: set[int]) -> list[BaseException]:
    """Return `error` and its members, also of nested groups, in order, without those in `seen`.

    All of them are added to `seen`.
    """
    stack, opened = [error], []
    while stack:
        current = stack.pop()
        if id(current) not in seen:
            seen.add(id(current))
            opened.append(current)
            stack.extend(reversed(members(current)))
    return opened


def _open_group(error: BaseException, seen: set[int]) -> Iterator[BaseException]:
    """Yield `error` and its members, then the causes of each member, with their members and causes.

    What is in `seen` is left out, and what is yielded is added to it. The cause of `error` itself
    is not followed.
    """
    opened = _with_members(error, seen)
    yield from opened
    stack = _causes(opened[1:])
    while stack:
        opened = _with_members(stack.pop(), seen)
        yield from opened
        stack.extend(_causes(opened))


def _causes(errors: list[BaseException]) -> list[BaseException]:
    """Return the explicit causes of `errors`, last first; those of groups come after the others."""
    leaves_first = sorted(errors, key=lambda each: bool(members(each)))
    causes = (explicit_cause(each) for each in reversed(leaves_first))
    return [cause for cause in causes if cause is not None]


def _reachable(error: BaseException) -> Iterator[BaseException]:
    """Yield `error`, its explicit causes and all members of groups, each once, outermost first."""
    stack, seen = [error], set()
    while stack:
        current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        cause = explicit_cause(current)
        if cause is not None:
            stack.append(cause)
        stack.extend(reversed(members(current)))
