"""Gym's servers: whose request is being served, and what leaves its routes, seen before Gym's middleware answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from types import TracebackType
from typing import Any

from failgraph.diagnostics import guard
from failgraph.exceptions.cause_chain import carries_failure
from failgraph.failure.boundary import FailureBoundary
from failgraph.instrumentation import hooks
from failgraph.instrumentation.gym.current_request import GymRequest, gym_request
from failgraph.instrumentation.gym.observing import (
    GymFailure,
    called_route,
    record_failure,
    record_raised,
)
from failgraph.instrumentation.gym.rollout_names import name_from_path
from failgraph.instrumentation.gym.vocabulary import (
    boundary_of_server,
    kind_of_route,
    route,
    stage_of,
)
from failgraph.recording.hop import running_hop
from failgraph.transport.request import Request

Message = MutableMapping[str, Any]
_HOOKED = "nemo_gym.server_utils.SimpleServer.setup_exception_middleware"


def setup_exception_middleware(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`SimpleServer.setup_exception_middleware(app)`: what is added before it stands inside it."""
    with guard("watching a Gym server"):
        boundary = boundary_of_server(instance)
        app = args[0] if args else kwargs.get("app")
        if boundary is None or app is None:
            hooks.note_unfit(_HOOKED, f"{type(instance).__name__} is a server of no known type")
        else:
            address = (
                f"{getattr(instance.config, 'host', '')}:{getattr(instance.config, 'port', '')}"
            )
            app.add_middleware(ServerWatcher, boundary=boundary, address=address)
    return wrapped(*args, **kwargs)


class ServerWatcher:
    """ASGI middleware just inside Gym's own that answers exceptions: sees them and every reply, changes nothing."""

    def __init__(
        self, app: Callable[..., Awaitable[None]], boundary: FailureBoundary, address: str
    ) -> None:
        self.app = app
        self._boundary, self._address = boundary, address

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Serve a request of this server; anything else passes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        server = GymRequest(self._boundary, self._address)

        async def look_and_send(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 500:
                with guard("a failing reply"):
                    record_failing_reply(server, scope, message["status"])
            await send(message)

        with _Serving(server, scope):
            await self.app(scope, receive, look_and_send)


class _Serving:
    """The time during which a request is served; an exception passes through it untouched."""

    def __init__(self, server: GymRequest, scope: MutableMapping[str, Any]) -> None:
        self._server, self._scope = server, scope

    def __enter__(self) -> None:
        gym_request.set(self._server)
        with guard("a request of a Gym server"):
            hop = running_hop()
            if hop is not None:
                hop.boundary = self._server.boundary
            name_from_path(self._scope["path"])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        with guard("what leaves a Gym server"):
            if isinstance(error, Exception):
                record_escaping(self._server, self._scope["method"], self._scope["path"], error)
        gym_request.set(None)


def record_escaping(server: GymRequest, method: str, path: str, error: Exception) -> str | None:
    """An exception leaves a route: the server's own failure. One that is a failure by itself the server layer knows."""
    if carries_failure(error):
        return None
    path = route(path)
    # An agent's own route says less than the one that it was calling when it failed.
    stage = stage_of(
        server.boundary,
        called_route(error) or path if server.boundary is FailureBoundary.AGENT else path,
    )
    operation = f"{method} {path}"
    return record_raised(
        GymFailure(server.boundary, kind_of_route(server.boundary, path, error), stage, operation),
        error,
    )


def record_failing_reply(server: GymRequest, scope: MutableMapping[str, Any], status: int) -> None:
    """A reply that says the server failed: because of an inner server's that it hands on, or of what it answers so."""
    hop = running_hop()
    if hop is None or hop.log.failure_id is not None:
        return
    error = hop.being_answered() if isinstance(hop, Request) else None
    if error is None and server.inner_reply_failed:
        hop.log.claim(server.inner_failure_id)  # without a report, its body still tells the caller
        return
    if isinstance(error, Exception):
        record_escaping(server, scope["method"], scope["path"], error)
    elif error is None:
        path = route(scope["path"])
        kind, stage = kind_of_route(server.boundary, path, None), stage_of(server.boundary, path)
        record_failure(
            GymFailure(
                server.boundary, kind, stage, f"{scope['method']} {path}", http_status=status
            ),
            own=True,
        )
