"""An OTLP endpoint as the target of an import: OpenTelemetry's own exporter for it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from opentelemetry.sdk.trace.export import SpanExporter

from failgraph.errors import ConfigError
from failgraph.otlp import GRPC, HTTP, HTTP_PORT, protocol_from_env
from failgraph.redaction.display import display

_HTTP_PATH = "/v1/traces"


def endpoint_exporter(endpoint: str, environ: Mapping[str, str]) -> SpanExporter:
    """The exporter for `endpoint`: of the protocol that the environment names, else of the one that the address shows.

    Over HTTP an address without a path gets `/v1/traces`. Raises ConfigError where the address or the protocol is none.
    """
    url = _parsed(endpoint)
    path = url.path.rstrip("/")
    # gRPC has no paths.
    by_address = HTTP if path or url.port == HTTP_PORT else GRPC
    if (protocol_from_env(environ) or by_address) == HTTP:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter as HttpExporter,
        )

        return HttpExporter(endpoint=endpoint if path else url._replace(path=_HTTP_PATH).geturl())
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (
        OTLPSpanExporter as GrpcExporter,
    )

    return GrpcExporter(endpoint=endpoint)


def _parsed(endpoint: str) -> SplitResult:
    """Return the parts of an endpoint, whose port can be read. Raises ConfigError."""
    try:
        url = urlsplit(endpoint)
        _ = url.port  # raises ValueError for one that is no number, or none below 65536
        if url.scheme.lower() in ("http", "https") and url.hostname:
            return url
    except ValueError:
        pass
    raise ConfigError(
        [f"--to {display(endpoint)} is no OTLP endpoint; give one such as http://localhost:4317"]
    )
