"""A real OTLP/HTTP receiver on loopback, for tests that start programs."""

from __future__ import annotations

import gzip
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Receiver:
    """Context manager that listens on a free port and keeps what it receives.

    Args:
        status: The status of every reply.
        repeats: Repeat the headers of the request in the body of the reply.
        file: Gets what arrived before each reply, as from the file exporter of a Collector.
    """

    def __init__(
        self, status: int = 200, *, repeats: bool = False, file: Path | None = None
    ) -> None:
        self.status = status
        self.repeats = repeats
        self.file = file

    def __enter__(self):
        self.bodies: list[bytes] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                if self.path.endswith("/v1/traces"):
                    receiver.bodies.append(body)
                    if receiver.file is not None:
                        receiver.file.write_bytes(receiver.text())
                answer = str(self.headers).encode() if receiver.repeats else b""
                self.send_response(receiver.status)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def spans(self) -> list:
        """Return every span that arrived, as OTLP protobuf."""
        return [
            span
            for body in self.bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def failures(self) -> Counter[str]:
        """Return how often each failure arrived, by event id."""
        return Counter(
            attribute.value.string_value
            for span in self.spans()
            for event in span.events
            if event.name == "nemo.gym.failure"
            for attribute in event.attributes
            if attribute.key == "nemo.gym.failure.id"
        )

    def text(self) -> bytes:
        """Return everything that arrived, unparsed."""
        return b"".join(self.bodies)
