"""OTLP endpoints as targets of an export."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from opentelemetry.sdk.trace.export import SpanExporter

from failgraph.errors import ConfigError
from failgraph.otlp import GRPC, HTTP, HTTP_PORT, protocol_from_env
from failgraph.redaction.display import display

_HTTP_PATH = "/v1/traces"


def endpoint_exporter(endpoint: str, environ: Mapping[str, str]) -> SpanExporter:
    """Make OpenTelemetry's exporter for an endpoint.

    Args:
        endpoint: A URL. For HTTP, `/v1/traces` is added if it has no path.
        environ: Picks the protocol, and nothing else: OpenTelemetry's exporter reads the other
            variables of this process. If it names none, a path or port 4318 means HTTP, else gRPC.

    Raises:
        ConfigError: The URL or the protocol cannot be used.
    """
    url = _parsed(endpoint)
    path = url.path.rstrip("/")
    # gRPC endpoints have no path.
    default_protocol = HTTP if path or url.port == HTTP_PORT else GRPC
    if (protocol_from_env(environ) or default_protocol) == HTTP:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter as HttpExporter,
        )

        return HttpExporter(endpoint=endpoint if path else url._replace(path=_HTTP_PATH).geturl())
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (
        OTLPSpanExporter as GrpcExporter,
    )

    return GrpcExporter(endpoint=endpoint)


def _parsed(endpoint: str) -> SplitResult:
    """Return the parts of a URL with a host and a valid port. Raise ConfigError for any other."""
    try:
        url = urlsplit(endpoint)
        _ = url.port  # raises ValueError if it is not a number below 65536
        if url.scheme.lower() in ("http", "https") and url.hostname:
            return url
    except ValueError:
        pass
    raise ConfigError(
        [f"-o {display(endpoint)} is not an OTLP endpoint such as http://localhost:4317"]
    )
