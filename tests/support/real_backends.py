"""Run the real backends of `make backends` on ports of loopback."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from programs import clean_environment
from real_programs import require

FOLDER = Path(__file__).parent / "backends"


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that no server listens on."""
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in free:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in free]


@contextlib.contextmanager
def running(
    name: str, *configs: Path, folder: Path, ports: Sequence[int], env: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a binary, and yield its process as soon as it listens on all ports.

    Args:
        name: The name of the binary.
        configs: Its configuration files, which may name variables of `env`.
        folder: Where its output is appended to `NAME.log`.
        ports: The ports of loopback that it will listen on.
        env: Environment variables besides those of the tests.
    """
    command = [str(require(name)), *(f"--config={config}" for config in configs)]
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            command, env={**clean_environment(), **env}, stdout=log, stderr=log
        )
    try:
        _await(process, ports, folder / f"{name}.log")
        yield process
    finally:
        end(process)


def _await(process: subprocess.Popen[bytes], ports: Sequence[int], log: Path) -> None:
    deadline = time.monotonic() + 30
    for port in ports:
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.02)


def end(process: subprocess.Popen[bytes]) -> int:
    """Terminate a process, wait until it has written its data, and return its exit code."""
    process.terminate()
    try:
        return process.wait(20)
    finally:
        process.kill()
        process.wait()


def post(address: str, document: bytes) -> None:
    """Send OTLP JSON over HTTP to a receiver at host:port."""
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(
        f"http://{address}/v1/traces", document, headers, method="POST"
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        assert response.status == 200


class Jaeger(NamedTuple):
    """A running Jaeger, which keeps spans in memory before it acknowledges them.

    Attributes:
        otlp_grpc: host:port of its OTLP receiver.
        otlp_http: The same for HTTP.
        query: The URL of its APIs.
    """

    otlp_grpc: str
    otlp_http: str
    query: str

    def get(self, path: str, **query: object) -> bytes:
        """Return the answer of one of its APIs."""
        url = f"{self.query}/{path}?{urllib.parse.urlencode(query)}"
        answer: bytes = urllib.request.urlopen(url, timeout=60).read()
        return answer

    def traces(self, api: str, trace_ids: Iterable[str]) -> bytes:
        """Return traces from `api/traces` or `api/v3/traces`, one answer a line."""
        return b"\n".join(self.get(f"{api}/{trace_id}") for trace_id in trace_ids)


@contextlib.contextmanager
def jaeger(folder: Path, *configs: Path, **variables: str) -> Iterator[Jaeger]:
    """Run a Jaeger without traces, with more configuration files and the variables they read."""
    ports = free_ports(4)
    grpc, http, query, query_grpc = (f"127.0.0.1:{port}" for port in ports)
    env = {"OTLP_GRPC": grpc, "OTLP_HTTP": http, "QUERY_HTTP": query, "QUERY_GRPC": query_grpc}
    files = (FOLDER / "jaeger" / "config.yaml", *configs)
    with running("jaeger", *files, folder=folder, ports=ports, env={**env, **variables}):
        yield Jaeger(grpc, http, f"http://{query}")


class Collector(NamedTuple):
    """A running Collector that writes traces to two files and sends them to a Jaeger.

    Attributes:
        otlp_grpc: host:port of its OTLP receiver.
        otlp_http: The same for HTTP.
        json: The file of OTLP JSON lines.
        proto: The file of OTLP protobuf.
        jaeger: Where it sends traces.
        process: Its process.
    """

    otlp_grpc: str
    otlp_http: str
    json: Path
    proto: Path
    jaeger: Jaeger
    process: subprocess.Popen[bytes]

    def end(self) -> None:
        """End it; then everything it received is in its files and in Jaeger."""
        assert end(self.process) == 0


@contextlib.contextmanager
def collector(folder: Path, target: Jaeger) -> Iterator[Collector]:
    """Run a Collector that sends to a Jaeger."""
    ports = free_ports(2)
    grpc, http = (f"127.0.0.1:{port}" for port in ports)
    env = {
        "OTLP_GRPC": grpc,
        "OTLP_HTTP": http,
        "JAEGER_GRPC": target.otlp_grpc,
        "JAEGER_HTTP": target.otlp_http,
    }
    env["FOLDER"] = str(folder)
    with running(
        "collector", FOLDER / "collector" / "config.yaml", folder=folder, ports=ports, env=env
    ) as process:
        yield Collector(grpc, http, folder / "traces.jsonl", folder / "traces.bin", target, process)
