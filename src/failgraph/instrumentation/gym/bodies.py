"""What the 500 of a Gym server says in its body: its own exception as text, or in quotes the body of the one below it.

Each hop on the way back wraps what it got in a sentence and quotes it once more. Only read where the server below sent
no report of its own, which says it all and exactly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from failgraph.boundary import FailureBoundary
from failgraph.instrumentation.gym.table import boundary_of_type, kind_of_route, route, stage_of
from failgraph.kinds import UNHANDLED
from failgraph.transport.headers import REPORT
from failgraph.transport.peers import is_peer

_MAX_BODY = 65_536
"""Bytes of a body that are looked at: each level doubles the escapes."""
_MAX_LEVELS = 8
_NESTED = re.compile(r"^Hit an exception in (\S{1,300})___(\S{1,300}) calling an inner server: (b['\"].*)$", re.DOTALL)
_ESCAPE = r"\\(?:[\\'\"nrt]|x[0-9a-f]{2})"
_BYTES = re.compile(rf"b'((?:[ !#-&(-\[\]-~\"]|{_ESCAPE})*)'|b\"((?:[ !#-\[\]-~']|{_ESCAPE})*)\"")


class Level(NamedTuple):
    """One server's failure, as a body tells it."""

    boundary: FailureBoundary
    kind: str
    stage: str | None
    operation: str | None
    http_status: int
    reason: str


class _Said(NamedTuple):
    server: str | None
    """Its name in Gym's configuration, where the body says it."""
    text: str


def nested(body: bytes) -> list[_Said]:
    """What a body says, outermost first: each server that it names, and the text that is left at the end."""
    found: list[_Said] = []
    text = _text(body)
    while len(found) < _MAX_LEVELS:
        match = _NESTED.match(text)
        inner = _literal(match[3]) if match is not None else None
        if match is None or inner is None:
            break
        found.append(_Said(match[2], ""))
        text = _text(inner)
    return [*found, _Said(None, text)]


def _text(body: bytes) -> str:
    said = _sentence(body)
    return body[:_MAX_BODY].decode("utf-8", "replace") if said is None else said


def _sentence(body: bytes) -> str | None:
    """The text that a body is as JSON, as Gym's exceptions are answered; None for any other body."""
    try:
        found = json.loads(body[:_MAX_BODY])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, str) else None


def _literal(text: str) -> bytes | None:
    """The bytes that a text is the `repr` of; None where it is cut or none."""
    match = _BYTES.fullmatch(text)
    if match is None:
        return None
    # No escape is left but those of `repr`.
    return (match[1] or match[2] or "").encode().decode("unicode_escape").encode("latin-1", "replace")


def levels_of(error: Any) -> list[Level]:
    """The failures that the body of a failing reply tells of, innermost first; empty where a report, or nobody, did.

    Of a host that is no peer nothing is believed: it may have a report of its own in this trace.
    """
    if not isinstance(getattr(error, "response_content", None), bytes):
        return []
    url = urlsplit(str(getattr(error.request_info, "real_url", "")))
    if (error.headers is not None and REPORT in error.headers) or not is_peer(url.hostname or ""):
        return []
    if error.status != 500 or _sentence(error.response_content) is None:
        return []  # it is not Gym's middleware that answered
    *servers, last = nested(error.response_content)
    boundary = _boundary_at(url.port)
    found: list[Level] = []
    path, name = route(url.path), None
    for server in servers:
        if server.server != name:  # an agent calls itself
            boundary, name = _block(server.server or "")[0] or boundary, server.server
            found += [_level(boundary, path, f"a server that {name} called failed")] if boundary is not None else []
        boundary, path = None, ""
    if boundary is not None:
        found.append(_level(boundary, path, last.text))
    elif found:
        found[-1] = found[-1]._replace(reason=last.text)
    return found[::-1]


def _level(boundary: FailureBoundary, path: str, reason: str) -> Level:
    kind = kind_of_route(boundary, path, None) if path or boundary is FailureBoundary.AGENT else UNHANDLED
    return Level(boundary, kind, stage_of(boundary, path), f"POST {path}" if path else None, 500, reason)


_configured: Mapping[str, Any] = {}


def configured(servers: Any) -> None:
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
    return boundary_of_type(server_type), settings


def _boundary_at(port: int | None) -> FailureBoundary | None:
    """Who listens on a port."""
    for server in _configured:
        boundary, settings = _block(server)
        if boundary is not None and settings.get("port") == port:
            return boundary
    return None
