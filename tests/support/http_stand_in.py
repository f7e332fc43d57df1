"""An HTTP server on loopback, for backends that cannot run here and for those that misbehave."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit


class ReceivedRequest(NamedTuple):
    """A request. The names of its headers are in lower case."""

    path: str
    fields: dict[str, str]
    headers: dict[str, str]


class Reply(NamedTuple):
    """A reply with a length."""

    body: bytes
    status: int = 200
    type: str = "application/json"
    headers: Mapping[str, str] = MappingProxyType({})


class StandIn(NamedTuple):
    """Where the server listens, and what it has received so far."""

    url: str
    requests: list[ReceivedRequest]


class Handler(BaseHTTPRequestHandler):
    """Passes a request to the server's `answer`, which returns a reply or writes one itself."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # a reply goes out as one, without waiting for an acknowledgement of its head

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        fields = {key: values[0] for key, values in parse_qs(url.query).items()}
        headers = {key.lower(): value for key, value in self.headers.items()}
        request = ReceivedRequest(url.path, fields, headers)
        self.server.requests.append(request)
        reply = self.server.answer(request, self)
        if reply is not None:
            self.send_response(reply.status)
            for key, value in {"content-type": reply.type, **reply.headers}.items():
                self.send_header(key, value)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        """Print nothing: clients of these tests may disconnect at any time."""


@contextmanager
def serving(
    answer: Callable[[ReceivedRequest, Handler], Reply | None], tls: SSLContext | None = None
) -> Iterator[StandIn]:
    """Run a server that answers with `answer`, over TLS if `tls` is given."""
    server: Any = _Server(("127.0.0.1", 0), Handler)
    server.answer, server.requests = answer, []
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    scheme = "http" if tls is None else "https"
    try:
        yield StandIn(f"{scheme}://127.0.0.1:{server.server_port}", server.requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
