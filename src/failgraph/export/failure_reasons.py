"""Why an OTLP endpoint did not take spans, in place of the words of OpenTelemetry's exporters."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from failgraph.otlp import (
    GRPC,
    GRPC_PORT,
    HEADERS,
    HTTP,
    HTTP_PORT,
    exporter_message,
    grpc_problem,
)

_MAX_REASON = 300  # characters
_CONNECT_S = 3.0
_HTTP_STATUS = re.compile(r"code: ([1-5][0-9]{2})\b")  # as the exporter for HTTP logs it
_DEFAULT_PORTS = {"http": 80, "https": 443}


def endpoint_failure(url: str, text: str, environ: Mapping[str, str]) -> str:
    """Return why an endpoint did not take a batch, and what to do, safe to show.

    Args:
        url: The endpoint.
        text: What the exporter logged or raised.
        environ: Names the headers that were sent.
    """
    host, port = _host_and_port(url)
    problem = grpc_problem(text, host, port) or _connection_problem(host, port)
    if problem is not None:
        return problem
    status = _HTTP_STATUS.search(text)
    if status is not None and status[1] in ("401", "403"):
        return f"it rejected the credentials (HTTP {status[1]}). Set {HEADERS[1]}"
    if status is not None and status[1] in ("404", "405", "501"):
        return (
            f"it is not an OTLP endpoint (HTTP {status[1]}). A Collector takes {HTTP} at port"
            f" {HTTP_PORT}, and {GRPC} at {GRPC_PORT}"
        )
    return exporter_message(text, environ, _MAX_REASON).rstrip(".")


def _host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme.lower(), GRPC_PORT)


def _connection_problem(host: str, port: int) -> str | None:
    """Return why a host takes no TCP connection within 3 s, or None if it does."""
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except (socket.gaierror, UnicodeError):  # UnicodeError: a name that no host can have
        return "unknown host name. Check the address"
    except OSError:
        return "nothing listens there. Start a Collector, or give another address"
    return None
