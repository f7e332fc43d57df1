"""Requests of Gym's servers: what leaves a route, seen before Gym's middleware answers it."""

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
from failgraph.instrumentation.hook_target import Wrapped
from failgraph.recording.hop import running_hop
from failgraph.transport.request import Request

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]

_HOOKED = "nemo_gym.server_utils.SimpleServer.setup_exception_middleware"


def setup_exception_middleware(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `SimpleServer.setup_exception_middleware(app)`: add a `ServerWatcher` first.

    Middleware that is added earlier stands further inside.
    """
    with guard("watching a Gym server"):
        boundary = boundary_of_server(instance)
        app = args[0] if args else kwargs.get("app")
        if boundary is None or app is None:
            hooks.note_unfit(_HOOKED, f"{type(instance).__name__} is not a known type of server")
        else:
            config = instance.config
            address = f"{getattr(config, 'host', '')}:{getattr(config, 'port', '')}"
            app.add_middleware(ServerWatcher, boundary=boundary, address=address)
    return wrapped(*args, **kwargs)


class ServerWatcher:
    """ASGI middleware just inside Gym's own: sees exceptions and replies, and changes nothing.

    Gym's middleware answers exceptions, so that they are not seen further out.
    """

    def __init__(
        self, app: Callable[..., Awaitable[None]], boundary: FailureBoundary, address: str
    ) -> None:
        self.app = app
        self._boundary = boundary
        self._address = address

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Serve an HTTP request and watch it. Pass on everything else."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        served = GymRequest(self._boundary, self._address)

        async def look_and_send(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 500:
                with guard("recording a failing reply"):
                    record_failing_reply(served, scope, message["status"])
            await send(message)

        with _ServedRequest(served, scope):
            await self.app(scope, receive, look_and_send)


class _ServedRequest:
    """Context manager that makes a request the current one.

    An exception that leaves the block is recorded, and propagates.
    """

    def __init__(self, served: GymRequest, scope: Scope) -> None:
        self._served = served
        self._scope = scope

    def __enter__(self) -> None:
        gym_request.set(self._served)
        with guard("watching a Gym request"):
            hop = running_hop()
            if hop is not None:
                hop.boundary = self._served.boundary
            name_from_path(self._scope["path"])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        with guard("recording what leaves a Gym server"):
            if isinstance(error, Exception):
                record_escaping(self._served, self._scope["method"], self._scope["path"], error)
        gym_request.set(None)


def record_escaping(served: GymRequest, method: str, path: str, error: Exception) -> str | None:
    """Record an exception that leaves a route as the server's own failure.

    A failure exception is left to the server layer, which records it.

    Returns:
        The id of the failure that `error` stands for, or None if nothing was recorded here.
    """
    if carries_failure(error):
        return None
    path = route(path)
    staged_path = path
    if served.boundary is FailureBoundary.AGENT:
        # The route that an agent was calling says more about the stage than its own.
        staged_path = called_route(error) or path
    failure = GymFailure(
        served.boundary,
        kind_of_route(served.boundary, path, error),
        stage_of(served.boundary, staged_path),
        f"{method} {path}",
    )
    return record_raised(failure, error)


def record_failing_reply(served: GymRequest, scope: Scope, status: int) -> None:
    """Record a reply with a status of 500 or more, if no failure of the request is known.

    It may be the reply of an inner server that is passed on, or the answer to an exception.
    """
    hop = running_hop()
    if hop is None or hop.log.failure_id is not None:
        return
    error = hop.pending_exception if isinstance(hop, Request) else None
    if error is None and served.inner_reply_failed:
        # Without a report of the inner server its body still tells the caller.
        hop.log.claim(served.inner_failure_id)
        return
    if isinstance(error, Exception):
        record_escaping(served, scope["method"], scope["path"], error)
    elif error is None:
        path, boundary = route(scope["path"]), served.boundary
        failure = GymFailure(
            boundary,
            kind_of_route(boundary, path, None),
            stage_of(boundary, path),
            f"{scope['method']} {path}",
            http_status=status,
        )
        record_failure(failure, own=True)
