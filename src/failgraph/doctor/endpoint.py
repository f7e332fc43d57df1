"""Where traces go, and whether anybody listens there."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

from failgraph.doctor.check import Check
from failgraph.exporting import GRPC, HTTP, PROTOCOLS, Target

PART = "endpoint"
_CONNECT_S = 3.0
_STANDARD = {4317: GRPC, 4318: HTTP}


def endpoint(where: Target, *, listening: bool) -> Iterator[Check]:
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
        yield Check(PART, "note", f"port {where.port} is as a rule for {usual}; {PROTOCOLS[1]} says {where.protocol}")
    if where.protocol == HTTP and not any(os.environ.get(name, "").strip() for name in PROTOCOLS):
        text = f"opentelemetry-instrument sends gRPC where no protocol is named: set {PROTOCOLS[1]}={HTTP} for it"
        yield Check(PART, "problem", text)


def connects(where: Target) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection((where.host, where.port), _CONNECT_S).close()
    except OSError:
        return False
    return True
