"""What is set, what would be attached and to what, where traces go, and whether failures come back from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph.doctor.attachment import attached
from failgraph.doctor.check import Ask, Check
from failgraph.doctor.configuration import configured
from failgraph.doctor.endpoint import endpoint
from failgraph.doctor.journal import journal
from failgraph.errors import ConfigError
from failgraph.otlp import endpoint_from_env, is_listening
from failgraph.redaction.display import display
from failgraph.settings import from_env

__all__ = ["Ask", "Check", "checks"]


def checks(environ: Mapping[str, str], backend: str | None, ask: Ask | None) -> Iterator[Check]:
    """Everything, in the order in which a failure meets it; `ask` reads a trace back from what is called `backend`."""
    yield from configured(environ)
    settings = from_env(environ).settings
    yield from journal(settings)
    yield from attached(settings, environ)
    try:
        where = endpoint_from_env(environ)
    except ConfigError as error:
        yield from (Check("endpoint", "problem", problem) for problem in error.problems)
        return
    listening = is_listening(where)
    yield from endpoint(where, environ, listening=listening)
    if not listening:
        return
    try:
        from failgraph.doctor.round_trip import round_trip
    except Exception as error:  # noqa: BLE001 - the SDK raises while it is loaded, for a limit that is no number
        yield Check(
            "round trip", "problem", display(f"OpenTelemetry's SDK does not start: {error}", 500)
        )
        return
    yield from round_trip(where, environ, backend, ask)
