"""What is set, what would be attached and to what, where traces go, and whether failures come back from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph.doctor.attached import attached
from failgraph.doctor.check import Check
from failgraph.doctor.configured import configured
from failgraph.doctor.endpoint import endpoint
from failgraph.doctor.journal import journal
from failgraph.doctor.sending import Ask, round_trip
from failgraph.errors import ConfigError
from failgraph.exporting import listens, target
from failgraph.settings import from_env

__all__ = ["Ask", "Check", "checks"]


def checks(environ: Mapping[str, str], backend: str | None, ask: Ask | None) -> Iterator[Check]:
    """Everything, in the order in which a failure meets it; `ask` reads a trace back from what is called `backend`."""
    yield from configured(environ)
    settings = from_env(environ)[0]
    yield from journal(settings)
    yield from attached(settings, environ)
    try:
        where = target(environ)
    except ConfigError as error:
        yield from (Check("endpoint", "problem", problem) for problem in error.problems)
        return
    listening = listens(where)
    yield from endpoint(where, environ, listening=listening)
    if listening:
        yield from round_trip(where, backend, ask)
