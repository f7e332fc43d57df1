"""Failures that the 500 of a Gym server quotes, for servers that sent no failure report.

The body is the server's own exception as text, or quotes the body of the server that it called.
A report, if there is one, says all of it exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from failgraph.failure.boundary import FailureBoundary
from failgraph.failure.kinds import UNHANDLED
from failgraph.gym_formats.error_bodies import ErrorBody, parse_error_body
from failgraph.gym_formats.failure_classes import SERVER_TYPES
from failgraph.instrumentation.gym.vocabulary import kind_of_route, route, stage_of
from failgraph.transport.headers import REPORT
from failgraph.transport.peers import is_peer

_MAX_BODY_BYTES = 65_536  # each server that quotes another doubles the escapes


class QuotedFailure(NamedTuple):
    """The failure of one server, as a body tells it. The fields are those of a `FailureEvent`."""

    boundary: FailureBoundary
    kind: str
    stage: str | None
    operation: str | None
    http_status: int
    reason: str


class _ConfiguredServer(NamedTuple):
    """A server of Gym's configuration.

    Attributes:
        boundary: Who the server is, or None if its type is unknown.
        settings: Its own block of the configuration.
    """

    boundary: FailureBoundary | None
    settings: Any


def failures_quoted_by(error: Any) -> list[QuotedFailure]:
    """Return the failures that the body of a failing reply quotes, innermost first.

    A host that is not a peer is not believed: it may have a report of its own in this trace.

    Args:
        error: aiohttp's `ClientResponseError`, to which Gym adds the body as `response_content`.

    Returns:
        The failures; empty if there is a report, or no body of Gym's middleware.
    """
    content = getattr(error, "response_content", None)
    if not isinstance(content, bytes) or error.status != 500:
        return []
    url = urlsplit(str(getattr(error.request_info, "real_url", "")))
    has_report = error.headers is not None and REPORT in error.headers
    if has_report or not is_peer(url.hostname or ""):
        return []
    text = content[:_MAX_BODY_BYTES].decode("utf-8", "replace")
    if not text.startswith('"'):
        return []  # Gym's middleware answers with a JSON string
    called = _boundary_at(url.hostname, url.port)
    return _failures_in(parse_error_body(text), called, route(url.path))


def _failures_in(
    body: ErrorBody, boundary: FailureBoundary | None, path: str
) -> list[QuotedFailure]:
    """Return the failures of a body, innermost first.

    Args:
        body: What the called server answered.
        boundary: Who that server is, or None if it is unknown.
        path: The route that was called. The routes of the servers below it are not known.
    """
    failures: list[QuotedFailure] = []
    name: str | None = None
    for server in body.servers:
        if server.name != name:  # an agent calls itself, which is one failure
            name = server.name
            boundary = _configured_server(name).boundary or boundary
            if boundary is not None:
                reason = f"a server that {name} called failed"
                failures.append(_quoted_failure(boundary, path, reason))
        boundary, path = None, ""
    if boundary is not None:
        failures.append(_quoted_failure(boundary, path, body.text))
    elif failures:
        # Nothing names the innermost server, so its text is all that is known of the last one.
        failures[-1] = failures[-1]._replace(reason=body.text)
    return failures[::-1]


def _quoted_failure(boundary: FailureBoundary, path: str, reason: str) -> QuotedFailure:
    kind = UNHANDLED
    if path or boundary is FailureBoundary.AGENT:
        kind = kind_of_route(boundary, path, None)
    operation = f"POST {path}" if path else None
    return QuotedFailure(boundary, kind, stage_of(boundary, path), operation, 500, reason)


_configuration: Mapping[str, Any] = {}


def set_configuration(servers: Any) -> None:
    """Keep Gym's configuration, which says who the servers are."""
    global _configuration
    _configuration = servers


def _configured_server(name: str) -> _ConfiguredServer:
    try:
        ((server_type, inner),) = _configuration[name].items()
        ((_, settings),) = inner.items()
    except Exception:  # noqa: BLE001 - not a server, or a value that cannot be resolved
        return _ConfiguredServer(None, {})
    return _ConfiguredServer(SERVER_TYPES.get(server_type), settings)


def _boundary_at(host: str | None, port: int | None) -> FailureBoundary | None:
    """Return who listens at an address, which Gym makes from the same configuration, or None."""
    for name in _configuration:
        boundary, settings = _configured_server(name)
        if boundary is not None and (settings.get("host"), settings.get("port")) == (host, port):
            return boundary
    return None
