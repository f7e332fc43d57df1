"""Check the OTLP endpoint: whether it accepts connections, and its protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph.doctor.check import CheckResult
from failgraph.otlp import (
    GRPC,
    GRPC_PORT,
    HTTP,
    HTTP_PORT,
    PROTOCOLS,
    OtlpEndpoint,
    protocol_from_env,
)

PART = "endpoint"
_USUAL_PROTOCOLS = {GRPC_PORT: GRPC, HTTP_PORT: HTTP}


def check_endpoint(
    endpoint: OtlpEndpoint, environ: Mapping[str, str], *, listening: bool
) -> Iterator[CheckResult]:
    """Check the endpoint that is in effect.

    Args:
        endpoint: The endpoint.
        environ: May name the protocol.
        listening: True if the endpoint accepts connections.
    """
    source = f"from {endpoint.named_by}" if endpoint.named_by else "OpenTelemetry's default"
    name = f"{endpoint.address} ({endpoint.protocol}, {source})"
    if listening:
        is_default = endpoint.named_by is None
        yield CheckResult(PART, "ok", f"{name} accepts connections", is_notable=not is_default)
    else:
        text = (
            f"cannot connect to {name}. Start a Collector or Jaeger there,"
            " or set OTEL_EXPORTER_OTLP_ENDPOINT."
        )
        yield CheckResult(PART, "problem", text)
    usual = _USUAL_PROTOCOLS.get(endpoint.port, endpoint.protocol)
    if usual != endpoint.protocol:
        text = (
            f"port {endpoint.port} is usually for {usual}, but the protocol is {endpoint.protocol}"
        )
        yield CheckResult(PART, "note", text)
    if endpoint.protocol == HTTP and protocol_from_env(environ) is None:
        text = (
            "opentelemetry-instrument sends gRPC unless a protocol is set."
            f" Set {PROTOCOLS[1]}={HTTP}."
        )
        yield CheckResult(PART, "problem", text)
