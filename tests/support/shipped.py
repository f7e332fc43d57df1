"""Run parts of the stack of `collector-config/` on ports of loopback."""

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
NOWHERE = "http://127.0.0.1:9"  # the port `discard`: no server listens on it


class Collector(NamedTuple):
    """A running Collector; all addresses are host:port."""

    otlp_http: str
    otlp_grpc: str
    health: str
    own_metrics: str
    failure_metrics: str
    kill: Callable[[], None]

    def export(self, spans: Iterable[ReadableSpan]) -> None:
        """Send spans with the SDK's exporter, in batches of the default size."""
        exporter = OTLPSpanExporter(endpoint=f"http://{self.otlp_http}/v1/traces", timeout=20)
        spans = list(spans)
        for start in range(0, len(spans), 512):
            assert exporter.export(spans[start : start + 512]) is SpanExportResult.SUCCESS
        exporter.shutdown()


@contextlib.contextmanager
def collector(
    folder: Path, *files: str | Path, env: Mapping[str, str] = {}, more: str = ""
) -> Iterator[Collector]:
    """Run a Collector.

    Args:
        folder: Where its queue and its log are.
        files: Names of files in `collector-config/`.
        env: Variables of its configuration; by default no backend is reachable.
        more: YAML that is merged over the files.
    """
    ports = free_ports(5)
    http, grpc, health, own, failures = (f"127.0.0.1:{port}" for port in ports)
    variables = {
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
    open_ports = ports if "failure-metrics.yaml" in files else ports[:4]
    with running("collector", *configs, folder=folder, ports=open_ports, env=variables) as process:

        def kill() -> None:
            process.kill()
            process.wait()

        yield Collector(http, grpc, health, own, failures, kill)


def to_file(path: Path) -> str:
    """Return YAML that makes a Collector write to a file what it would send to Jaeger."""
    return f"""
exporters: {{file: {{path: {json.dumps(str(path))}, flush_interval: 50ms}}}}
service: {{pipelines: {{traces: {{exporters: [file]}}}}}}
"""


class Series(NamedTuple):
    """One value of a metric, as Prometheus scrapes it."""

    name: str
    labels: dict[str, str]
    value: float


_LINE = re.compile(r"(?P<name>[a-zA-Z_:]\w*)(?:{(?P<labels>.*)})? (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def scrape(address: str) -> list[Series]:
    """Return the metrics at host:port."""
    text = urllib.request.urlopen(f"http://{address}/metrics", timeout=10).read().decode()
    matches = (_LINE.fullmatch(line) for line in text.splitlines() if not line.startswith("#"))
    return [
        Series(match["name"], dict(_LABEL.findall(match["labels"] or "")), float(match["value"]))
        for match in matches
        if match
    ]


def eventually(check: Callable[[], Any], seconds: float = 20) -> Any:
    """Call `check` until its result is true, and return that.

    Raises:
        AssertionError: That took longer than `seconds`.
    """
    deadline = time.monotonic() + seconds
    while True:
        # SourceError: a file that is being written may hold half a line.
        with contextlib.suppress(OSError, SourceError):
            result = check()
            if result:
                return result
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
