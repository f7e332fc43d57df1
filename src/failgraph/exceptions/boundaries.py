"""Which boundary a failure exception gets, and a warning if it names one that does not exist."""

from __future__ import annotations

from functools import lru_cache

from failgraph.context import server_boundary
from failgraph.diagnostics import warn_once
from failgraph.exceptions.cause_chain import BoundaryFor, named_boundary, unknown_boundary
from failgraph.failure.records import FailureBoundary
from failgraph.redaction.display import display
from failgraph.settings import current
from failgraph.settings.values import one_of
from failgraph.text import did_you_mean

_CHOICES = tuple(each.value for each in FailureBoundary)


def boundary_or_default(boundary: FailureBoundary | None) -> BoundaryFor:
    """Return a function that gives a failure its boundary.

    That is the one it names, else `boundary`, else the setting `FAILGRAPH_BOUNDARY`, else the type
    of the Gym server that the code runs in.
    """
    default = boundary or current().boundary or server_boundary()
    return lambda error: named_boundary(error) or default


def warn_of_unknown_boundary(error: BaseException, used: FailureBoundary | None) -> bool:
    """Log once for each class and name that a failure names a boundary that does not exist.

    Args:
        error: A failure.
        used: The boundary in its place; None if the failure is not recorded for lack of one.

    Returns:
        True if it names such a boundary.
    """
    unknown = unknown_boundary(error)
    if unknown is None:
        return False
    name = type(error).__name__
    effect = "it is not recorded" if used is None else f"{used.value} is recorded in its place"
    message = "failgraph: %s: %s; %s"
    warn_once(f"boundary:{name}:{unknown}:{effect}", message, name, _problem(unknown), effect)
    return True


@lru_cache(maxsize=32)
def _problem(unknown: str) -> str:
    """Return what is wrong with the name of a boundary, safe to show."""
    suggestion = did_you_mean(unknown, _CHOICES)
    return f"boundary must be {one_of(_CHOICES)}, not {display(unknown, 40)!a}{suggestion}"
