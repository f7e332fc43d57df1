"""OpenTelemetry's own OTLP exporter of traces, as the environment configures it.

https://opentelemetry.io/docs/specs/otel/protocol/exporter/: a variable for traces wins over the one
for all signals.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from failgraph.errors import ConfigError
from failgraph.redaction import survives_redaction
from failgraph.redaction.display import display
from failgraph.redaction.header_values import remove_header_values
from failgraph.redaction.markers import marker
from failgraph.settings.values import must_be, one_of, parse_headers
from failgraph.text import sanitize

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
HEADERS: Final = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
GRPC: Final = "grpc"
HTTP: Final = "http/protobuf"
GRPC_PORT: Final = 4317
HTTP_PORT: Final = 4318
_EXPORTERS: Final = {"otlp_proto_grpc": GRPC, "otlp_proto_http": HTTP}
"""Values of `OTEL_TRACES_EXPORTER` that imply a protocol."""
_CONNECT_S = 3.0
_HTTP2_START = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
"""What a client of HTTP/2 sends first: the preface, and empty settings."""


class OtlpEndpoint(NamedTuple):
    """Where traces go.

    Attributes:
        protocol: `grpc` or `http/protobuf`.
        host: A host name or an IP address, without brackets.
        port: A TCP port.
        named_by: The variable that names the endpoint, or None if it is OpenTelemetry's default.
        is_hidden: True if the host may be a secret or a part of one.
    """

    protocol: str
    host: str
    port: int
    named_by: str | None
    is_hidden: bool = False

    @property
    def address(self) -> str:
        """Host and port, safe to show; the rest of the URL may hold credentials."""
        if self.is_hidden:
            return f"{marker('host')}:{self.port}"
        host = sanitize(self.host)
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


def endpoint_from_env(environ: Mapping[str, str]) -> OtlpEndpoint:
    """Return the endpoint that an environment sends traces to.

    If no variable names a protocol, port 4318 means HTTP and any other port gRPC, OpenTelemetry's
    default.

    Raises:
        ConfigError: The endpoint or the protocol cannot be used.
    """
    named_by = _first_set(environ, ENDPOINTS)
    value = environ[named_by].strip() if named_by else ""
    protocol = protocol_from_env(environ)
    try:
        url = urlsplit(value if "://" in value else f"//{value or 'localhost'}")
        host, port = url.hostname, url.port
    except ValueError:
        host = port = None
    if host is None:
        raise ConfigError([f"{named_by} must be a URL such as http://localhost:{GRPC_PORT}"])
    if protocol is None:
        protocol = HTTP if port == HTTP_PORT else GRPC
    if not port and not value:
        port = HTTP_PORT if protocol == HTTP else GRPC_PORT
    elif not port:
        # gRPC defaults to port 443, whatever the scheme.
        port = 443 if url.scheme == "https" or protocol == GRPC else 80
    return OtlpEndpoint(
        protocol, host, port, named_by, is_hidden=not survives_redaction(host, value or host)
    )


def protocol_from_env(environ: Mapping[str, str]) -> str | None:
    """Return the protocol that an environment names, or None if it names none.

    Raises:
        ConfigError: It names a protocol other than `grpc` and `http/protobuf`.
    """
    named_by = _first_set(environ, PROTOCOLS)
    if named_by is None:
        return _EXPORTERS.get(environ.get("OTEL_TRACES_EXPORTER", "").strip())
    protocol = environ[named_by].strip()
    if protocol not in (GRPC, HTTP):
        raise ConfigError([must_be(named_by, one_of((GRPC, HTTP)), protocol)])
    return protocol


def _first_set(environ: Mapping[str, str], names: Sequence[str]) -> str | None:
    """Return the first of `names` that is set and not blank, or None if there is none."""
    return next((name for name in names if environ.get(name, "").strip()), None)


def is_listening(endpoint: OtlpEndpoint) -> bool:
    """True if a TCP connection to the endpoint succeeds within 3 s."""
    try:
        socket.create_connection((endpoint.host, endpoint.port), _CONNECT_S).close()
    except (OSError, UnicodeError):  # UnicodeError: an invalid host name
        return False
    return True


def grpc_problem(text: str, host: str, port: int) -> str | None:
    """Return that an endpoint does not speak gRPC and what to set, or None if it may speak it.

    Of a host with several addresses grpcio may name one that it could not connect to, and older
    exporters name no reason. The server is then asked itself.

    Args:
        text: What the exporter logged or raised.
        host: A host name or an IP address, without brackets.
        port: A TCP port.
    """
    is_unclear = "Failed to connect to remote host" in text or "StatusCode.UNAVAILABLE" in text
    is_http = "Failed parsing HTTP/2" in text or (is_unclear and _answers_in_text(host, port))
    return f"it does not speak gRPC. Set {PROTOCOLS[1]}={HTTP}" if is_http else None


def _answers_in_text(host: str, port: int) -> bool:
    """True if a server answers the start of HTTP/2 in text, as of HTTP/1, within 3 s."""
    try:
        with socket.create_connection((host, port), _CONNECT_S) as connection:
            connection.sendall(_HTTP2_START)
            start = connection.recv(4).decode("ascii")  # a frame and a TLS alert are binary
    except (OSError, UnicodeError):  # UnicodeError: an invalid host name, or not text
        return False
    return bool(start) and start.isprintable()


def make_exporter(endpoint: OtlpEndpoint) -> SpanExporter:
    """Make the exporter of the endpoint's protocol.

    It reads URL, headers and certificates from the environment itself.
    """
    if endpoint.protocol == HTTP:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter as HttpExporter,
        )

        return HttpExporter()
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (
        OTLPSpanExporter as GrpcExporter,
    )

    return GrpcExporter()


def exporter_message(text: str, environ: Mapping[str, str], limit: int) -> str:
    """Return an exporter's message, safe to show: a server that refuses headers may repeat them.

    Args:
        text: The message.
        environ: Names the headers that the exporter sent.
        limit: Characters to show at most.
    """
    sent: list[str] = []
    for name in HEADERS:
        headers = parse_headers(name, environ.get(name, "")).value or ()
        sent += (value for _, value in headers)
    return display(remove_header_values(text, sent), limit)
