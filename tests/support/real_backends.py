"""Real backends on loopback, as `make backends` has built them: any configuration, its ports given by environment."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from real_programs import require

FOLDER = Path(__file__).parent / "backends"


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on."""
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in free:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in free]


@contextlib.contextmanager
def running(
    name: str, *configs: Path, folder: Path, ports: Sequence[int], env: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A binary with these configurations, from when it listens on all `ports`; it is ended at the end, if need be.

    What it says goes to `<name>.log` in `folder`, behind what is there. Of the tests' own settings it sees none.
    """
    inherited = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("OTEL_", "FAILGRAPH_"))
    }
    command = [str(require(name)), *(f"--config={config}" for config in configs)]
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(command, env={**inherited, **env}, stdout=log, stderr=log)
    try:
        _await(process, ports, folder / f"{name}.log")
        yield process
    finally:
        end(process)


def _await(process: subprocess.Popen[bytes], ports: Sequence[int], log: Path) -> None:
    until = time.monotonic() + 30
    for port in ports:
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < until, log.read_text()[-2000:]
            time.sleep(0.02)


def end(process: subprocess.Popen[bytes]) -> int:
    """Ask it to end, and wait until it has sent and written what it holds; its exit code."""
    process.terminate()
    try:
        return process.wait(20)
    finally:
        process.kill()
        process.wait()


def post(address: str, document: bytes) -> None:
    """Send OTLP JSON to a receiver at host:port."""
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(
        f"http://{address}/v1/traces", document, headers, method="POST"
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        assert response.status == 200


class Jaeger(NamedTuple):
    """Has what it was sent as soon as it has answered. Where it takes OTLP is host:port, where it is asked a URL."""

    otlp_grpc: str
    otlp_http: str
    query: str

    def get(self, path: str, **query: object) -> bytes:
        """What one of its APIs answers."""
        url = f"{self.query}/{path}?{urllib.parse.urlencode(query)}"
        answer: bytes = urllib.request.urlopen(url, timeout=60).read()
        return answer

    def traces(self, api: str, trace_ids: Iterable[str]) -> bytes:
        """Traces by `api/traces` or `api/v3/traces`, one answer a line."""
        return b"\n".join(self.get(f"{api}/{trace_id}") for trace_id in trace_ids)


@contextlib.contextmanager
def jaeger(folder: Path, *configs: Path, **variables: str) -> Iterator[Jaeger]:
    """Run an empty Jaeger, with more configuration files and the variables that they read."""
    ports = free_ports(4)
    grpc, http, query, query_grpc = (f"127.0.0.1:{port}" for port in ports)
    env = {"OTLP_GRPC": grpc, "OTLP_HTTP": http, "QUERY_HTTP": query, "QUERY_GRPC": query_grpc}
    files = (FOLDER / "jaeger" / "config.yaml", *configs)
    with running("jaeger", *files, folder=folder, ports=ports, env={**env, **variables}):
        yield Jaeger(grpc, http, f"http://{query}")


class Collector(NamedTuple):
    """One that writes two files, and sends to a Jaeger. Where it takes OTLP is host:port."""

    otlp_grpc: str
    otlp_http: str
    json: Path
    proto: Path
    jaeger: Jaeger
    process: subprocess.Popen[bytes]

    def end(self) -> None:
        """Everything that it was sent is in its files and in Jaeger when this returns."""
        assert end(self.process) == 0


@contextlib.contextmanager
def collector(folder: Path, there: Jaeger) -> Iterator[Collector]:
    """A Collector that sends to that Jaeger."""
    ports = free_ports(2)
    grpc, http = (f"127.0.0.1:{port}" for port in ports)
    env = {
        "OTLP_GRPC": grpc,
        "OTLP_HTTP": http,
        "JAEGER_GRPC": there.otlp_grpc,
        "JAEGER_HTTP": there.otlp_http,
    }
    env["FOLDER"] = str(folder)
    with running(
        "collector", FOLDER / "collector" / "config.yaml", folder=folder, ports=ports, env=env
    ) as process:
        yield Collector(grpc, http, folder / "traces.jsonl", folder / "traces.bin", there, process)
