"""What is set, what would be attached and to what, where traces go, and whether failures come back from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph.doctor.attached import attached
from failgraph.doctor.check import Ask, Check
from failgraph.doctor.configured import configured
from failgraph.doctor.endpoint import endpoint
from failgraph.doctor.journal import journal
from failgraph.errors import ConfigError
from failgraph.exporting import listens, target
from failgraph.settings import from_env
from failgraph.view.neutral import shown

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
    if not listening:
        return
    try:
        from failgraph.doctor.sending import round_trip
    except Exception as error:  # noqa: BLE001 - the SDK raises while it is loaded, for a limit that is no number
        yield Check("round trip", "problem", shown(f"OpenTelemetry's SDK does not start: {error}", 500))
        return
    yield from round_trip(where, environ, backend, ask)
