"""The explicit chain of an exception, seen as failures: which of its exceptions are failures, and which caused which.

An exception group has no id of its own: its members count, and for `F from group` the cause is the first member that
is a failure. Groups are told by their `exceptions`, since Python 3.10 has no such type. Iterative throughout, and a
ring of causes ends where it meets itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from failgraph.failure.boundary import parse_boundary
from failgraph.failure.records import FailureBoundary
from failgraph.text import bounded_id, escape_surrogates, safe_str

BoundaryFor = Callable[[BaseException], "FailureBoundary | None"]
"""The boundary of a failure exception, or None where it has none and so cannot be recorded."""

RECORDED_ID = "_failgraph_event_id"
"""Attribute of a foreign exception that was recorded as a failure: its event id; text, so that it pickles anywhere."""


CARRIED_CAUSE = "_carried_cause"
"""Attribute of a failure that came out of a pickle: its explicit cause, which a process pool overwrites."""

_REMOTE_TRACEBACKS = ("_RemoteTraceback", "RemoteTraceback")
"""What `concurrent.futures` and `multiprocessing` put in place of the cause of what a worker raised."""


class Observed(NamedTuple):
    """A failure exception, and what its explicit chain says of it."""

    error: BaseException
    cause_id: str | None
    foreign: BaseException | None
    """The nearest foreign exception below it, before the next failure."""


def is_failure(error: BaseException) -> bool:
    """Whether `error` is an `NgFailureEvent`, ours or Gym's own; by class name, so that nothing of Gym is imported."""
    return any(cls.__name__ == "NgFailureEvent" for cls in type(error).__mro__)


def is_cancellation(error: BaseException) -> bool:
    """Whether `error` says that the caller cancelled; by class name, so that no event loop is imported."""
    return any(cls.__name__ == "CancelledError" for cls in type(error).__mro__)


def recorded_id(error: BaseException) -> str | None:
    """The event id of a foreign exception that was recorded as a failure itself, or None."""
    value = getattr(error, "__dict__", {}).get(RECORDED_ID)
    return value if isinstance(value, str) else None


def attribute(error: object, name: str) -> Any:
    """An attribute of an exception of somebody else's; None where it is absent, or where asking raises."""
    try:
        return getattr(error, name, None)
    except Exception:  # noqa: BLE001 - a property of the user's may raise anything
        return None


def explicit_cause(error: BaseException) -> BaseException | None:
    """The `__cause__` of `error`; where a process pool has put its traceback there, the one that was there before."""
    cause = error.__cause__
    if type(cause).__name__ in _REMOTE_TRACEBACKS:
        carried = attribute(error, CARRIED_CAUSE)
        return carried if isinstance(carried, BaseException) else None
    return cause


def members(error: BaseException) -> tuple[BaseException, ...]:
    """The members of an exception group; empty for any other exception."""
    found = attribute(error, "exceptions")
    if isinstance(found, (tuple, list)) and all(
        isinstance(member, BaseException) for member in found
    ):
        return tuple(found)
    return ()


def foreign_status(error: BaseException) -> int | None:
    """The HTTP status that a foreign error carries, under the names that SDKs use for it."""
    for holder in (error, attribute(error, "response")):
        for name in ("status_code", "status", "http_status", "code"):
            value = attribute(holder, name)
            if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
                return int(value)
    return None


def named_boundary(error: BaseException) -> FailureBoundary | None:
    """The boundary that the failure `error` names itself."""
    return parse_boundary(_said(error, "boundary"))


def _said(error: BaseException, name: str) -> Any:
    """What a failure says of itself; Gym's own class may say it only in its record."""
    value = attribute(error, name)
    if value is None and attribute(error, "event_id") is None:
        return attribute(record_of(error), name)
    return value


def record_of(error: BaseException) -> object:
    """The record that a failure of Gym's own class makes of itself; None where it makes none."""
    try:
        return error.to_record()  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - another version of Gym's may raise anything
        return None


def _counts(error: BaseException, boundary_for: BoundaryFor) -> bool:
    return is_failure(error) and boundary_for(error) is not None


def _explicit(error: BaseException | None) -> Iterator[BaseException]:
    """`error` and its explicit causes, groups as they stand, each once."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = explicit_cause(error)


def leaves(error: BaseException) -> list[BaseException]:
    """The exceptions of a group, nested groups opened, in order; an exception that is no group is its own leaf."""
    stack, seen, found = [error], set(), []
    while stack:
        here = stack.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        inner = members(here)
        if inner:
            stack.extend(reversed(inner))
        else:
            found.append(here)
    return found


def _in_group(
    group: BaseException, counts: Callable[[BaseException], bool]
) -> BaseException | None:
    """The first member that counts, else the first that a member names as its cause."""
    inside = leaves(group)
    direct = next(filter(counts, inside), None)
    if direct is not None:
        return direct
    return next((found for leaf in inside for found in _explicit(leaf) if counts(found)), None)


def outermost(
    error: BaseException, boundary_for: BoundaryFor, *, with_recorded: bool = False
) -> BaseException | None:
    """The first failure of the explicit chain that has a boundary; a group gives its first one.

    `with_recorded` also takes a foreign exception that was recorded as a failure.
    """

    def counts(found: BaseException) -> bool:
        return _counts(found, boundary_for) or (with_recorded and recorded_id(found) is not None)

    for here in _explicit(error):
        if counts(here):
            return here
        if members(here):
            found = _in_group(here, counts)
            if found is not None:
                return found
    return None


def cause_of(
    error: BaseException, boundary_for: BoundaryFor
) -> tuple[BaseException | None, BaseException | None]:
    """What caused `error`: the next failure of its explicit chain, and the nearest foreign exception before it."""

    def counts(found: BaseException) -> bool:
        known = _counts(found, boundary_for) or recorded_id(found) is not None
        return known and event_id(found) != own_id

    own_id = event_id(error)
    foreign: BaseException | None = None
    for here in _explicit(explicit_cause(error)):
        if here is error:
            break
        if counts(here):
            return here, foreign
        found = _in_group(here, counts) if members(here) else None
        if found is not None:
            return found, foreign
        if foreign is None and not is_failure(here):
            foreign = here
    return None, foreign


def _reachable(error: BaseException) -> Iterator[BaseException]:
    """`error`, its explicit causes, and the members of every group on the way, each once, outermost first."""
    stack, seen = [error], set()
    while stack:
        here = stack.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        yield here
        cause = explicit_cause(here)
        if cause is not None:
            stack.append(cause)
        stack.extend(reversed(members(here)))


def carries_failure(error: BaseException) -> bool:
    """Whether `error` is a failure, or one is among its explicit causes or the members of a group."""
    return any(is_failure(here) for here in _reachable(error))


def unplaced(error: BaseException, boundary_for: BoundaryFor) -> list[BaseException]:
    """The failures that `error` is or carries and that have no boundary, so that they cannot be recorded."""
    return [here for here in _reachable(error) if is_failure(here) and boundary_for(here) is None]


def observed(error: BaseException, boundary_for: BoundaryFor) -> list[Observed]:
    """Every failure that `error` is or carries, once an event id, causes before effects."""
    found: dict[str, BaseException] = {}
    for reached in _reachable(error):
        if _counts(reached, boundary_for):
            found.setdefault(event_id(reached) or "", reached)
    ordered: dict[str, Observed] = {}
    for entry in found:
        path: dict[str, Observed] = {}
        here: str | None = entry
        while here is not None and here in found and here not in ordered and here not in path:
            cause, foreign = cause_of(found[here], boundary_for)
            cause_id = event_id(cause) if cause is not None else None
            path[here] = Observed(found[here], cause_id, foreign)
            here = cause_id
        if here in path:
            last = list(path)[-1]
            # The edge that closes a ring is left out.
            path[last] = path[last]._replace(cause_id=None)
        ordered.update(reversed(path.items()))
    return list(ordered.values())


def event_id(error: BaseException) -> str | None:
    """The event id of a failure exception, or of a foreign one that was recorded as a failure, as it is written."""
    value = _said(error, "event_id") if is_failure(error) else recorded_id(error)
    return None if value is None else bounded_id(escape_surrogates(safe_str(value)))
