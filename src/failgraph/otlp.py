"""OpenTelemetry's own OTLP exporter of traces, as the environment configures it.

https://opentelemetry.io/docs/specs/otel/protocol/exporter/: the variables for traces go before those for all signals.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from failgraph.errors import ConfigError
from failgraph.redaction import survives
from failgraph.redaction.display import display, sanitize
from failgraph.redaction.header_values import remove_header_values
from failgraph.redaction.rule import mark
from failgraph.settings.values import headers, said

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
HEADERS: Final = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
GRPC: Final = "grpc"
HTTP: Final = "http/protobuf"
_EXPORTERS: Final = {"otlp_proto_grpc": GRPC, "otlp_proto_http": HTTP}
"""Names in `OTEL_TRACES_EXPORTER` that say which protocol is meant."""
HTTP_PORT: Final = 4318
"""Where HTTP is understood without a variable that says so."""
_CONNECT_S = 3.0


class Target(NamedTuple):
    """Where traces go."""

    protocol: str
    """`grpc` or `http/protobuf`."""
    host: str
    port: int
    named_by: str | None
    """The variable that names it; None where OpenTelemetry's default does."""
    hidden: bool = False
    """Whether the host may be a secret, or a part of one."""

    @property
    def address(self) -> str:
        """Host and port, as people write them; nothing of what else the endpoint may hold."""
        host = mark("host") if self.hidden else sanitize(self.host)
        return f"{f'[{host}]' if ':' in host else host}:{self.port}"


def target(environ: Mapping[str, str]) -> Target:
    """Where `environ` sends traces. Raises ConfigError where it names what cannot be an endpoint or a protocol.

    Without a protocol a port of 4318 means HTTP and any other gRPC, which is the default of OpenTelemetry's start-up.
    """
    named_by = next((name for name in ENDPOINTS if environ.get(name, "").strip()), None)
    value = environ[named_by].strip() if named_by else ""
    protocol = protocol_of(environ)
    try:
        url = urlsplit(value if "://" in value else f"//{value or 'localhost'}")
        host, port = url.hostname, url.port
    except ValueError:
        host = port = None
    if host is None:
        raise ConfigError([f"{named_by} is no address such as http://localhost:4317"])
    if protocol is None:
        protocol = HTTP if port == HTTP_PORT else GRPC
    # gRPC takes 443 where nobody says a port, whatever stands before the name.
    given = 443 if url.scheme == "https" or protocol == GRPC else 80
    standard = given if value else HTTP_PORT if protocol == HTTP else 4317
    return Target(
        protocol, host, port or standard, named_by, hidden=not survives(host, value or host)
    )


def protocol_of(environ: Mapping[str, str]) -> str | None:
    """The protocol that `environ` names, or None. Raises ConfigError where that is none of the two."""
    chosen_by = next((name for name in PROTOCOLS if environ.get(name, "").strip()), None)
    protocol = environ[chosen_by].strip() if chosen_by else None
    if protocol not in (None, GRPC, HTTP):
        raise ConfigError([f"{chosen_by}={said(protocol)} is not one of {GRPC}, {HTTP}"])
    return protocol or _EXPORTERS.get(environ.get("OTEL_TRACES_EXPORTER", "").strip())


def listens(where: Target) -> bool:
    """Whether somebody takes connections there."""
    try:
        socket.create_connection((where.host, where.port), _CONNECT_S).close()
    except (OSError, UnicodeError):  # the latter of a name that no machine can have
        return False
    return True


def exporter(where: Target) -> SpanExporter:
    """The exporter; it reads address, headers and certificates from the environment by itself."""
    if where.protocol == HTTP:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter as OverHTTP,
        )

        return OverHTTP()
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as OverGRPC

    return OverGRPC()


def in_its_words(text: str, environ: Mapping[str, str], limit: int) -> str:
    """What an exporter says, without the headers that it sends along: who refuses them may repeat them."""
    sent = [value for name in HEADERS for _, value in headers(name, environ.get(name, ""), [])]
    return display(remove_header_values(text, sent), limit)
