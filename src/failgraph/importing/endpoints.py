"""An OTLP endpoint as the target of an import: OpenTelemetry's own exporter for it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from opentelemetry.sdk.trace.export import SpanExporter

from failgraph.errors import ConfigError

_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HTTP_PORT = 4318
_HTTP_PATH = "/v1/traces"


def endpoint_exporter(endpoint: str, environ: Mapping[str, str]) -> SpanExporter:
    """The exporter for `endpoint`: of the protocol that the environment names, else of the one that the address shows.

    Over HTTP an address without a path gets `/v1/traces`. Raises ConfigError where the address or the protocol is none.
    """
    parts, port = _split(endpoint)
    path = parts.path.rstrip("/")
    name = next((name for name in _PROTOCOLS if environ.get(name, "").strip()), None)
    # gRPC has no paths.
    shown = "http/protobuf" if path or port == _HTTP_PORT else "grpc"
    protocol = shown if name is None else environ[name].strip()
    if protocol == "http/protobuf":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

        return HttpExporter(endpoint=endpoint if path else parts._replace(path=_HTTP_PATH).geturl())
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        return GrpcExporter(endpoint=endpoint)
    raise ConfigError([f"{name}={protocol} is no protocol of an import; set grpc or http/protobuf"])


def _split(endpoint: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(endpoint)
        if parts.scheme.lower() in ("http", "https") and parts.hostname:
            return parts, parts.port
    except ValueError:
        pass
    raise ConfigError([f"--to {endpoint} is no OTLP endpoint; give one such as http://localhost:4317"])
