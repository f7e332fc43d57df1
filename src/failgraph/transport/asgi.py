"""ASGI applications, served so that each request is a hop, open while the application has it."""

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
from failgraph.transport.request import KEY, App, Message, Receive, Request, Scope, Send

_ENDED = ("lifespan.shutdown.complete", "lifespan.shutdown.failed")


async def serve(app: App, scope: Scope, receive: Receive, send: Send) -> None:
    """Let `app` serve one request, or one websocket, in a hop of its own."""
    request: Request | None = None
    with guard("request"):
        _leave_the_one_before(scope)
        request = Request(scope, running_hop())
    if request is None:
        await app(scope, receive, send)
        return
    serving = request

    async def tell_and_send(message: Message) -> None:
        if message["type"] == "http.response.start" and not serving.replied:
            with guard("reply"):
                message = serving.replying(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            serving.ended = True  # before it is sent: uvicorn starts the next request meanwhile
        await send(message)

    with _Served(scope, request):
        await app(scope, receive, tell_and_send)


def _leave_the_one_before(scope: Scope) -> None:
    """Begin anew where the code runs in the context of the request before it on the same connection.

    uvicorn starts a request that came early where the reply before it ends, and in its context: without this it would
    be a part of that request, and in its trace.
    """
    hop = running_hop()
    around = () if hop is None else (hop, *hop.enclosing())
    before = next(
        (each for each in around if isinstance(each, Request) and each.is_before(scope)), None
    )
    if before is None:
        return
    current_hop.set(None)
    span = trace.get_current_span()
    if getattr(span, "kind", None) is not SpanKind.SERVER or span is before.span:
        context.attach(Context())  # there is no span of this request yet


async def serve_lifespan(app: App, scope: Scope, receive: Receive, send: Send) -> None:
    """Let `app` begin and end, and flush when it has ended: whoever serves it may end by a signal, without more ado."""

    async def send_and_flush(message: Message) -> None:
        await send(message)
        # At once, before the server gets to go on. It has nothing else to do than to end.
        if message["type"] in _ENDED:
            flush_at_exit()

    await app(scope, receive, send_and_flush)


class _Served:
    """The time during which a request is the current hop; an exception passes through it untouched."""

    def __init__(self, scope: Scope, request: Request) -> None:
        self._scope, self._request = scope, request

    def __enter__(self) -> None:
        self._scope[KEY] = self._request
        current_hop.set(self._request)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._scope.pop(KEY, None)
        with guard("request end"):
            self._request.close(error)
        if current_hop.get() is self._request:
            current_hop.set(self._request.innermost_open())


def is_to_be_served(scope: Scope) -> bool:
    """Whether a call is a request of its own: no lifespan, and not inside another application's call."""
    return (
        scope["type"] in ("http", "websocket")
        and KEY not in scope
        and current().enabled is not False
    )


def is_lifespan(scope: Scope) -> bool:
    """Whether a call is the life of the application."""
    return scope["type"] == "lifespan" and current().enabled is not False


class FailureMiddleware:
    """ASGI middleware: each request of `app` is a hop, its report a reply header for peers that ask.

    For applications that are neither Starlette's nor FastAPI's, and where failgraph is not enabled from outside; put it
    inside the middleware that makes the SERVER span.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request in a hop, and flush at the end of the application's life; anything else passes."""
        if is_to_be_served(scope):
            await serve(self.app, scope, receive, send)
        elif is_lifespan(scope):
            await serve_lifespan(self.app, scope, receive, send)
        else:
            await self.app(scope, receive, send)


class Observer:
    """Stands inside the middleware that answers for exceptions: sees the SERVER span, and them, before it does.

    The `inner` one sees what the routes answer themselves; the `last` one on the way out is also told of requests that
    get no reply; outside of one that `ends` the span does so, whatever happens. It keeps the attribute `app`, since
    others walk the stack by it.
    """

    def __init__(
        self, app: App, *, inner: bool = False, last: bool = False, ends: bool = False
    ) -> None:
        self.app = app
        self._inner = inner
        self._last = last
        self._ends = ends

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application, and look."""
        request = scope.get(KEY)
        if not isinstance(request, Request):
            await self.app(scope, receive, send)
            return

        async def look_and_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                # Further out, another task may send it, where this exception is not being handled.
                handled = sys.exc_info()[1]
                with guard("observing"):
                    if handled is None and self._inner:
                        request.begins_anew()
                    request.saw(handled)
            await send(message)

        with _Observed(
            request, ends=self._ends, last=self._last, websocket=scope["type"] == "websocket"
        ):
            await self.app(scope, receive, look_and_send)


class _Observed:
    """The time during which the application inside an observer runs; an exception passes through it untouched."""

    def __init__(self, request: Request, *, ends: bool, last: bool, websocket: bool) -> None:
        self._request, self._ends, self._last, self._websocket = request, ends, last, websocket

    def __enter__(self) -> None:
        with guard("observing"):
            self._request.see(trace.get_current_span())
            self._request.begins_anew(sys.exc_info()[1])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        with guard("observing"):
            self._request.saw(error)
            # Of an exception a reply is made further out, but of no cancellation; a websocket gets none anyway.
            unanswered = self._websocket or (error is not None and not isinstance(error, Exception))
            if (self._last and unanswered) or (self._ends and error is not None):
                self._request.finish(error)
