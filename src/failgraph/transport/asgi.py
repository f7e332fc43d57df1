"""Serve ASGI applications so that each request is a hop, open while the application handles it."""

from __future__ import annotations

import sys
from types import TracebackType

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind

from failgraph.context import current_hop
from failgraph.diagnostics import guard
from failgraph.recording.hop import running_hop
from failgraph.recording.recorder import flush_at_exit
from failgraph.settings import current
from failgraph.transport.request import SCOPE_KEY, App, Message, Receive, Request, Scope, Send

_SHUTDOWN_MESSAGES = ("lifespan.shutdown.complete", "lifespan.shutdown.failed")


def is_new_request(scope: Scope) -> bool:
    """Return True for an HTTP or websocket request that no enclosing application serves already."""
    return (
        scope["type"] in ("http", "websocket")
        and SCOPE_KEY not in scope
        and current().enabled is not False
    )


def is_lifespan(scope: Scope) -> bool:
    """Return True for the call that starts and ends the application."""
    return scope["type"] == "lifespan" and current().enabled is not False


async def serve_request(app: App, scope: Scope, receive: Receive, send: Send) -> None:
    """Let `app` serve one request or websocket in a hop of its own."""
    new_request: Request | None = None
    with guard("request"):
        _leave_previous_request(scope)
        new_request = Request(scope, running_hop())
    if new_request is None:
        await app(scope, receive, send)
        return
    request = new_request

    async def send_with_report(message: Message) -> None:
        if message["type"] == "http.response.start" and not request.replied:
            with guard("reply"):
                message = request.start_reply(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            # Before it is sent, because uvicorn starts the next request meanwhile.
            request.ended = True
        await send(message)

    with _OpenRequest(scope, request):
        await app(scope, receive, send_with_report)


def _leave_previous_request(scope: Scope) -> None:
    """Leave the context of the request before this one on the same connection.

    uvicorn starts a pipelined request where the reply before it ends, and in its context. Without
    this it would become a part of that request and of its trace.
    """
    hop = running_hop()
    hops = () if hop is None else (hop, *hop.enclosing())
    requests = [hop for hop in hops if isinstance(hop, Request) and hop.precedes(scope)]
    if not requests:
        return
    current_hop.set(None)
    span = trace.get_current_span()
    if getattr(span, "kind", None) is not SpanKind.SERVER or span is requests[0].span:
        context.attach(Context())  # this request has no span yet


async def serve_lifespan(app: App, scope: Scope, receive: Receive, send: Send) -> None:
    """Let `app` start and end, and flush when it has ended: a server may be killed right after."""

    async def send_and_flush(message: Message) -> None:
        await send(message)
        # Here, before the server continues; it has nothing left to do but to end.
        if message["type"] in _SHUTDOWN_MESSAGES:
            flush_at_exit()

    await app(scope, receive, send_and_flush)


class _OpenRequest:
    """Context manager that makes a request the current hop. Exceptions pass through unchanged."""

    def __init__(self, scope: Scope, request: Request) -> None:
        self._scope = scope
        self._request = request

    def __enter__(self) -> None:
        self._scope[SCOPE_KEY] = self._request
        current_hop.set(self._request)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._scope.pop(SCOPE_KEY, None)
        with guard("request end"):
            self._request.close(exc)
        if current_hop.get() is self._request:
            current_hop.set(self._request.innermost_open())


class FailureMiddleware:
    """ASGI middleware: each request of `app` is a hop, and peers that ask get its report.

    For applications of neither Starlette nor FastAPI, if failgraph is not enabled from outside.
    Put it inside the middleware that creates the SERVER span.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve requests in hops, and flush when the application ends."""
        if is_new_request(scope):
            await serve_request(self.app, scope, receive, send)
        elif is_lifespan(scope):
            await serve_lifespan(self.app, scope, receive, send)
        else:
            await self.app(scope, receive, send)


class Observer:
    """ASGI application inside a middleware that answers exceptions.

    It sees the SERVER span, and each exception before the middleware makes a reply of it. It keeps
    the attribute `app`, because other code walks the middleware stack by it.

    Args:
        app: The application inside.
        innermost: True below all middleware of the application. A reply that starts here without
            an exception is the route's own, so what was seen before has been recovered from.
        outermost: True directly inside `ServerErrorMiddleware`. It also reports requests that end
            without a reply.
        inside_tracing: True directly inside a middleware that ends the SERVER span with every
            exception, so that the report must be written before.
    """

    def __init__(
        self,
        app: App,
        *,
        innermost: bool = False,
        outermost: bool = False,
        inside_tracing: bool = False,
    ) -> None:
        self.app = app
        self._innermost = innermost
        self._outermost = outermost
        self._inside_tracing = inside_tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application and observe what it sends and raises."""
        request = scope.get(SCOPE_KEY)
        if not isinstance(request, Request):
            await self.app(scope, receive, send)
            return

        async def observe_and_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                # Here, because further out another task may send it, which handles no exception.
                handled = sys.exc_info()[1]
                with guard("observing"):
                    if handled is None and self._innermost:
                        request.forget_exceptions()
                    request.note_exception(handled)
            await send(message)

        with _ObservedCall(
            request,
            outermost=self._outermost,
            inside_tracing=self._inside_tracing,
            is_websocket=scope["type"] == "websocket",
        ):
            await self.app(scope, receive, observe_and_send)


class _ObservedCall:
    """Context manager around the call of an observed application. Exceptions pass unchanged."""

    def __init__(
        self, request: Request, *, outermost: bool, inside_tracing: bool, is_websocket: bool
    ) -> None:
        self._request = request
        self._outermost = outermost
        self._inside_tracing = inside_tracing
        self._is_websocket = is_websocket

    def __enter__(self) -> None:
        with guard("observing"):
            self._request.use_span(trace.get_current_span())
            self._request.forget_exceptions(sys.exc_info()[1])

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with guard("observing"):
            self._request.note_exception(exc)
            # Further out an exception becomes a reply, but a cancellation does not, and a
            # websocket never gets one.
            is_cancelled = exc is not None and not isinstance(exc, Exception)
            is_unanswered = self._is_websocket or is_cancelled
            ends_here = self._inside_tracing and exc is not None
            if ends_here or (self._outermost and is_unanswered):
                self._request.report_early(exc)
