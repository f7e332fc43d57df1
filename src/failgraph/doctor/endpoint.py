"""Where traces go, and whether anybody listens there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failgraph.doctor.check import Check
from failgraph.otlp import GRPC, HTTP, PROTOCOLS, OtlpEndpoint, protocol_from_env

PART = "endpoint"
_STANDARD = {4317: GRPC, 4318: HTTP}


def endpoint(
    where: OtlpEndpoint, environ: Mapping[str, str], *, listening: bool
) -> Iterator[Check]:
    """The endpoint in force, and the traps around its protocol."""
    source = f"from {where.named_by}" if where.named_by else "OpenTelemetry's default"
    text = f"{where.address} by {where.protocol} ({source})"
    if listening:
        yield Check(PART, "ok", f"{text} takes connections")
    else:
        what = "start a Collector or Jaeger there, or set OTEL_EXPORTER_OTLP_ENDPOINT"
        yield Check(PART, "problem", f"{text} takes no connection; {what}")
    usual = _STANDARD.get(where.port, where.protocol)
    if usual != where.protocol:
        yield Check(
            PART,
            "note",
            f"port {where.port} is as a rule for {usual}, and {where.protocol} is what is named",
        )
    if where.protocol == HTTP and protocol_from_env(environ) is None:
        text = f"opentelemetry-instrument sends gRPC where no protocol is named: set {PROTOCOLS[1]}={HTTP} for it"
        yield Check(PART, "problem", text)
