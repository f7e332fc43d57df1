"""Parts of the stack of `collector-config/`, as people run them, on ports of loopback."""

from __future__ import annotations

import contextlib
import json
import re
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from failgraph.errors import SourceError
from real_backends import free_ports, running

CONFIG = Path(__file__).parents[2] / "collector-config"
NOWHERE = "http://127.0.0.1:9"
"""The port `discard`: nobody listens on it."""


class Collector(NamedTuple):
    """Where a Collector is: host:port of its OTLP over HTTP and gRPC, its health, its own metrics and the failures'."""

    otlp_http: str
    otlp_grpc: str
    health: str
    own_metrics: str
    failure_metrics: str
    kill: Callable[[], None]

    def export(self, spans: Iterable[ReadableSpan]) -> None:
        """Send spans as a program does: by the SDK's exporter, in its batches."""
        exporter = OTLPSpanExporter(endpoint=f"http://{self.otlp_http}/v1/traces", timeout=20)
        waiting = list(spans)
        for at in range(0, len(waiting), 512):
            assert exporter.export(waiting[at : at + 512]) is SpanExportResult.SUCCESS
        exporter.shutdown()


@contextlib.contextmanager
def collector(
    folder: Path, *files: str | Path, env: Mapping[str, str] = {}, more: str = ""
) -> Iterator[Collector]:
    """A Collector with files of `collector-config/`, and with `more` YAML after them; its queue is in `folder`."""
    ports = free_ports(5)
    http, grpc, health, own, failures = (f"127.0.0.1:{port}" for port in ports)
    given = {
        "OTLP_HTTP": http,
        "OTLP_GRPC": grpc,
        "HEALTH": health,
        "METRICS_HOST": "127.0.0.1",
        "METRICS_PORT": str(ports[3]),
        "FAILURE_METRICS": failures,
        "QUEUE_DIR": str(folder / "queue"),
        "JAEGER_OTLP_HTTP": NOWHERE,
        "TEMPO_OTLP_HTTP": NOWHERE,
        **env,
    }
    configs = [CONFIG / file for file in files]
    if more:
        configs.append(folder / "more.yaml")
        configs[-1].write_text(more)
    listens = ports if "failure-metrics.yaml" in files else ports[:4]
    with running("collector", *configs, folder=folder, ports=listens, env=given) as process:

        def kill() -> None:
            process.kill()
            process.wait()

        yield Collector(http, grpc, health, own, failures, kill)


def to_file(path: Path) -> str:
    """What makes a Collector write into a file what it would send to Jaeger."""
    return f"""
exporters: {{file: {{path: {json.dumps(str(path))}, flush_interval: 50ms}}}}
service: {{pipelines: {{traces: {{exporters: [file]}}}}}}
"""


class Series(NamedTuple):
    """One line of a scrape."""

    name: str
    labels: dict[str, str]
    value: float


_LINE = re.compile(r"(?P<name>[a-zA-Z_:]\w*)(?:{(?P<labels>.*)})? (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def scrape(address: str) -> list[Series]:
    """What a Prometheus would get."""
    text = urllib.request.urlopen(f"http://{address}/metrics", timeout=10).read().decode()
    found = (_LINE.fullmatch(line) for line in text.splitlines() if not line.startswith("#"))
    return [
        Series(line["name"], dict(_LABEL.findall(line["labels"] or "")), float(line["value"]))
        for line in found
        if line
    ]


def eventually(check: Callable[[], Any], seconds: float = 20) -> Any:
    """What `check` gives, as soon as that is true; AssertionError where it is not in time."""
    until = time.monotonic() + seconds
    while True:
        with contextlib.suppress(
            OSError, SourceError
        ):  # a file that is being written may hold half a line
            found = check()
            if found:
                return found
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)
