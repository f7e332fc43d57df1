"""The seams in Starlette, and so in FastAPI: every request is a hop, whenever the application was made.

On the classes, since applications may be there already; only a middleware stack that was already built is not observed.
The type of the stack's outermost middleware is never changed: OpenTelemetry's instrumentation would skip itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from failgraph.transport.asgi import Observer, is_lifespan, is_to_be_served, serve, serve_lifespan


def application_call(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`Starlette.__call__`: serve the request in a hop; at the end of the application's life flush."""
    try:
        scope, receive, send = _of_call(*args, **kwargs)
    except TypeError:
        return wrapped(*args, **kwargs)  # which says what is wrong
    if is_to_be_served(scope):
        return serve(wrapped, scope, receive, send)
    return (
        serve_lifespan(wrapped, scope, receive, send)
        if is_lifespan(scope)
        else wrapped(*args, **kwargs)
    )


def _of_call(scope: Any, receive: Any, send: Any) -> tuple[Any, Any, Any]:
    return scope, receive, send


def observe_outermost(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """`ServerErrorMiddleware.__init__`: put an observer inside, before a 500 is made."""
    _wrap_inner_app(wrapped, args, kwargs, last=True)


def observe_innermost(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """`ExceptionMiddleware.__init__`: put an observer inside, below the application's own middleware."""
    _wrap_inner_app(wrapped, args, kwargs, inner=True)


def observe_traced(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """`OpenTelemetryMiddleware.__init__` of Starlette's own: put an observer inside, before the span ends."""
    _wrap_inner_app(wrapped, args, kwargs, ends=True)


def observe_answering(
    wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """`__init__(app, …)` of a middleware that answers exceptions by itself: put an observer inside, before it does."""
    _wrap_inner_app(wrapped, args, kwargs)


def _wrap_inner_app(
    wrapped: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], **placement: bool
) -> None:
    if args:
        args = (Observer(args[0], **placement), *args[1:])
    elif "app" in kwargs:
        kwargs = {**kwargs, "app": Observer(kwargs["app"], **placement)}
    wrapped(*args, **kwargs)
