"""An HTTP server on loopback, for backends that cannot run here and for such as misbehave: keeps what it is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit


class Asked(NamedTuple):
    """A request."""

    path: str
    fields: dict[str, str]
    headers: dict[str, str]
    """Names in lower case."""


class Reply(NamedTuple):
    """An answer with a length."""

    body: bytes
    status: int = 200
    type: str = "application/json"
    headers: Mapping[str, str] = MappingProxyType({})


class Handler(BaseHTTPRequestHandler):
    """Gives a function the request; what the function does not write itself it returns."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer goes out as one, without waiting for an acknowledgement of its head

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        fields = {key: values[0] for key, values in parse_qs(url.query).items()}
        asked = Asked(url.path, fields, {key.lower(): value for key, value in self.headers.items()})
        self.server.asked.append(asked)
        reply = self.server.answer(asked, self)
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
        """Say nothing: whoever asked has gone."""


class Server(NamedTuple):
    """Where it listens, and what it was asked so far."""

    url: str
    asked: list[Asked]


@contextmanager
def serving(
    answer: Callable[[Asked, Handler], Reply | None], tls: SSLContext | None = None
) -> Iterator[Server]:
    """Serve what `answer` says."""
    server: Any = _Server(("127.0.0.1", 0), Handler)
    server.answer, server.asked = answer, []
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Server(f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}", server.asked)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
