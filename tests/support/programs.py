"""Programs that tests start, and the environment that they get."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from pathlib import Path

import pytest

from otlp_server import Receiver

APPS = Path(__file__).parent / "apps"
PROVIDERS = Path(sys.prefix) / "providers"
BIN = Path(sys.prefix) / "bin"
ON = {"FAILGRAPH_ENABLED": "true"}
HTTP = "http/protobuf"


def has(module: str) -> bool:
    """Return True if `module` is installed."""
    with contextlib.suppress(ModuleNotFoundError):
        return importlib.util.find_spec(module) is not None
    return False


needs_auto = pytest.mark.skipif(
    not has("opentelemetry.distro"), reason="needs failgraph[auto], which this set lacks"
)
needs_config = pytest.mark.skipif(
    not has("opentelemetry.configuration"),
    reason="needs opentelemetry-configuration, which this set lacks",
)
needs_servers = pytest.mark.skipif(
    not (has("gunicorn") and has("uvicorn")), reason="this set has no servers"
)


def clean_environment() -> dict[str, str]:
    """Return this process's environment without settings of failgraph and OpenTelemetry."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FAILGRAPH_", "OTEL_"))
    }


def environment(receiver: Receiver, extra: dict[str, str]) -> dict[str, str]:
    """Return the environment of a program: an OTLP endpoint for traces, and no other settings.

    Args:
        receiver: Where the program exports to.
        extra: Variables to add.
    """
    inherited = clean_environment()
    path = f"{BIN}{os.pathsep}{inherited.get('PATH', '')}"
    otel = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": HTTP,
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_SERVICE_NAME": "program",
    }
    return {**inherited, **otel, "PATH": path, "PYTHONPATH": str(APPS), **extra}
