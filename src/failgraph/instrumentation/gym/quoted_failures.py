"""What the 500 of a Gym server says of it and of those below it, where it sent no report (which says it all, exactly).

Its body is its own exception as text, or quotes the body of the server that it called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from failgraph.failure.boundary import FailureBoundary
from failgraph.failure.kinds import UNHANDLED
from failgraph.gym_formats.error_bodies import parse_error_body
from failgraph.gym_formats.failure_classes import SERVER_TYPES
from failgraph.instrumentation.gym.vocabulary import kind_of_route, route, stage_of
from failgraph.transport.headers import REPORT
from failgraph.transport.peers import is_peer

_MAX_BODY_BYTES = 65_536
"""Bytes of a body that are looked at: each level doubles the escapes."""


class QuotedFailure(NamedTuple):
    """One server's failure, as a body tells it."""

    boundary: FailureBoundary
    kind: str
    stage: str | None
    operation: str | None
    http_status: int
    reason: str


def failures_quoted_by(error: Any) -> list[QuotedFailure]:
    """The failures that the body of a failing reply tells of, innermost first; empty where a report, or nobody, did.

    Of a host that is no peer nothing is believed: it may have a report of its own in this trace.
    """
    content = getattr(error, "response_content", None)
    if not isinstance(content, bytes) or error.status != 500:
        return []
    url = urlsplit(str(getattr(error.request_info, "real_url", "")))
    if (error.headers is not None and REPORT in error.headers) or not is_peer(url.hostname or ""):
        return []
    text = content[:_MAX_BODY_BYTES].decode("utf-8", "replace")
    if not text.startswith('"'):
        return []  # it is not Gym's middleware that answered
    body = parse_error_body(text)
    boundary = _boundary_at(url.hostname, url.port)
    found: list[QuotedFailure] = []
    path, name = route(url.path), None
    for server in body.servers:
        if server.name != name:  # an agent calls itself
            boundary, name = _block(server.name)[0] or boundary, server.name
            found += (
                [_quoted_failure(boundary, path, f"a server that {name} called failed")]
                if boundary is not None
                else []
            )
        boundary, path = None, ""
    if boundary is not None:
        found.append(_quoted_failure(boundary, path, body.text))
    elif found:
        found[-1] = found[-1]._replace(reason=body.text)
    return found[::-1]


def _quoted_failure(boundary: FailureBoundary, path: str, reason: str) -> QuotedFailure:
    kind = (
        kind_of_route(boundary, path, None)
        if path or boundary is FailureBoundary.AGENT
        else UNHANDLED
    )
    return QuotedFailure(
        boundary, kind, stage_of(boundary, path), f"POST {path}" if path else None, 500, reason
    )


_configured: Mapping[str, Any] = {}


def set_configuration(servers: Any) -> None:
    """Remember Gym's configuration, by which its servers are known."""
    global _configured
    _configured = servers


def _block(server: str) -> tuple[FailureBoundary | None, Any]:
    """Who a server is, and what is configured for it."""
    try:
        ((server_type, inner),) = _configured[server].items()
        ((_, settings),) = inner.items()
    except Exception:  # noqa: BLE001 - not a server, or a value that cannot be resolved
        return None, {}
    return SERVER_TYPES.get(server_type), settings


def _boundary_at(host: str | None, port: int | None) -> FailureBoundary | None:
    """Who listens at an address, as Gym makes it of the same configuration."""
    for server in _configured:
        boundary, settings = _block(server)
        if boundary is not None and (settings.get("host"), settings.get("port")) == (host, port):
            return boundary
    return None
