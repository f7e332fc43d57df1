"""Calls an ASGI application as a server does, message by message, so that a test sees exactly what it sent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

ASKING = ((b"x-ng-failure-accept", b"1"),)


class Answer(NamedTuple):
    """What an application sent, and what it raised."""

    messages: list[dict[str, Any]]
    raised: BaseException | None

    @property
    def status(self) -> int | None:
        """The status of the reply; None where there was none."""
        return self.messages[0]["status"] if self.messages else None

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the reply, names in lower case."""
        return {
            name.decode().lower(): value.decode()
            for name, value in self.messages[0].get("headers", ())
        }

    @property
    def body(self) -> bytes:
        """The body of the reply."""
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
) -> Answer:
    """One request; after `cancel_after` seconds it is cancelled, after `gone_after` it hears of a disconnect."""
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
    first = (
        [{"type": "websocket.connect"}]
        if kind == "websocket"
        else [{"type": "http.request", "body": b""}]
    )

    async def receive() -> dict[str, Any]:
        if first:
            return first.pop()
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
    return Answer(sent, asyncio.CancelledError() if task.cancelled() else task.exception())


def run(
    app: Any, path: str = "/", headers: Sequence[tuple[bytes, bytes]] = (), **options: Any
) -> Answer:
    """One request to `app` in an event loop of its own."""
    return asyncio.run(call(app, path, headers, **options))
