"""Which boundary a failure exception gets."""

from __future__ import annotations

from failgraph.context import server_boundary
from failgraph.exceptions.cause_chain import BoundaryFor, named_boundary
from failgraph.failure.records import FailureBoundary
from failgraph.settings import current


def boundary_or_default(boundary: FailureBoundary | None) -> BoundaryFor:
    """Return a function that gives a failure its boundary.

    That is the one it names, else `boundary`, else the setting `FAILGRAPH_BOUNDARY`, else the type
    of the Gym server that the code runs in.
    """
    default = boundary or current().boundary or server_boundary()
    return lambda error: named_boundary(error) or default
