"""Call an ASGI application message by message, so that a test sees exactly what it sent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

ACCEPTS_REPORTS = ((b"x-ng-failure-accept", b"1"),)  # the header of a client that reads reports


class Response(NamedTuple):
    """What an application sent, and what it raised."""

    messages: list[dict[str, Any]]
    raised: BaseException | None

    @property
    def status(self) -> int | None:
        """The HTTP status, or None if no response was started."""
        return self.messages[0]["status"] if self.messages else None

    @property
    def headers(self) -> dict[str, str]:
        """The headers, with names in lower case."""
        return {
            name.decode().lower(): value.decode()
            for name, value in self.messages[0].get("headers", ())
        }

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(message.get("body", b"") for message in self.messages[1:])


async def call(
    app: Any,
    path: str = "/",
    headers: Sequence[tuple[bytes, bytes]] = (),
    *,
    client: tuple[str, int] | None = ("127.0.0.1", 4711),
    kind: str = "http",
    cancel_after: float | None = None,
    gone_after: float = 3600,
) -> Response:
    """Send one request to `app`.

    Args:
        app: The application.
        path: The path of the request.
        headers: Headers to send besides `host`.
        client: Address and port of the client, or None if the server does not know them.
        kind: The scope's type, `http` or `websocket`.
        cancel_after: Seconds until the request is cancelled.
        gone_after: Seconds until the client disconnects.
    """
    scope = {
        "type": kind,
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"t"), *headers],
        "client": client,
        "server": ("t", 80),
        "subprotocols": [],
        "state": {},
    }
    sent: list[dict[str, Any]] = []
    if kind == "websocket":
        waiting = [{"type": "websocket.connect"}]
    else:
        waiting = [{"type": "http.request", "body": b""}]

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await asyncio.sleep(gone_after)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(dict(message))

    task = asyncio.ensure_future(app(scope, receive, send))
    if cancel_after is not None:
        await asyncio.wait([task], timeout=cancel_after)
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait([task])
    return Response(sent, asyncio.CancelledError() if task.cancelled() else task.exception())


def run(
    app: Any, path: str = "/", headers: Sequence[tuple[bytes, bytes]] = (), **options: Any
) -> Response:
    """Send one request to `app` in an event loop of its own."""
    return asyncio.run(call(app, path, headers, **options))
