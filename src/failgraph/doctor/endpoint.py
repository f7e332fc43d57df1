"""Where traces go, and whether anybody listens there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph.doctor.check import CheckResult
from failgraph.otlp import GRPC, HTTP, PROTOCOLS, OtlpEndpoint, protocol_from_env

PART = "endpoint"
_STANDARD = {4317: GRPC, 4318: HTTP}


def check_endpoint(
    endpoint: OtlpEndpoint, environ: Mapping[str, str], *, listening: bool
) -> Iterator[CheckResult]:
    """The endpoint in force, and the traps around its protocol."""
    source = f"from {endpoint.named_by}" if endpoint.named_by else "OpenTelemetry's default"
    text = f"{endpoint.address} by {endpoint.protocol} ({source})"
    if listening:
        yield CheckResult(PART, "ok", f"{text} takes connections")
    else:
        what = "start a Collector or Jaeger there, or set OTEL_EXPORTER_OTLP_ENDPOINT"
        yield CheckResult(PART, "problem", f"{text} takes no connection; {what}")
    usual = _STANDARD.get(endpoint.port, endpoint.protocol)
    if usual != endpoint.protocol:
        yield CheckResult(
            PART,
            "note",
            f"port {endpoint.port} is as a rule for {usual}, and {endpoint.protocol} is what is named",
        )
    if endpoint.protocol == HTTP and protocol_from_env(environ) is None:
        text = f"opentelemetry-instrument sends gRPC where no protocol is named: set {PROTOCOLS[1]}={HTTP} for it"
        yield CheckResult(PART, "problem", text)
