"""Checks of a failgraph setup: settings, journal, attachment, endpoint, and a round trip.

The round trip sends a test failure to the endpoint and reads it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph.doctor.attachment import check_attachment
from failgraph.doctor.check import CheckResult, TraceSource
from failgraph.doctor.configuration import check_settings
from failgraph.doctor.endpoint import check_endpoint
from failgraph.doctor.journal import check_journal
from failgraph.errors import ConfigError
from failgraph.otlp import endpoint_from_env, is_listening
from failgraph.redaction.display import display
from failgraph.settings import from_env

__all__ = ["CheckResult", "TraceSource", "run_checks"]


def run_checks(
    environ: Mapping[str, str], source: TraceSource | None = None
) -> Iterator[CheckResult]:
    """Run all checks, in the order in which a failure passes them.

    Args:
        environ: The environment of the program to check.
        source: Where the test failure is read back from; None skips that.
    """
    yield from check_settings(environ)
    settings = from_env(environ).settings
    yield from check_journal(settings)
    yield from check_attachment(settings, environ)
    try:
        endpoint = endpoint_from_env(environ)
    except ConfigError as error:
        yield from (CheckResult("endpoint", "problem", problem) for problem in error.problems)
        return
    listening = is_listening(endpoint)
    yield from check_endpoint(endpoint, environ, listening=listening)
    if not listening:
        return
    try:
        from failgraph.doctor.round_trip import check_round_trip
    except Exception as error:  # noqa: BLE001 - the SDK raises when imported, for example for a limit like "many"
        problem = display(f"cannot start OpenTelemetry's SDK: {error}", 500)
        yield CheckResult("round trip", "problem", problem)
        return
    yield from check_round_trip(endpoint, environ, source)
