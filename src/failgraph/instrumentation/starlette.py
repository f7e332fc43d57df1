"""Hooks in Starlette, and so in FastAPI: every request becomes a hop.

The classes are wrapped, because applications may exist before failgraph is attached. Only a
middleware stack that was built before is not observed. The type of the stack's outermost
middleware is never changed: OpenTelemetry's instrumentation would then skip itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from failgraph.instrumentation.hook_target import Wrapped
from failgraph.transport.asgi import (
    Observer,
    is_lifespan,
    is_new_request,
    serve_lifespan,
    serve_request,
)


class _ApplicationCall(NamedTuple):
    """The arguments of `Starlette.__call__`."""

    scope: Any
    receive: Any
    send: Any


def application_call(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `Starlette.__call__`: serve a request in a hop, and flush when the application ends."""
    try:
        call = _ApplicationCall(*args, **kwargs)
    except TypeError:
        return wrapped(*args, **kwargs)  # Starlette raises for the wrong arguments
    if is_new_request(call.scope):
        return serve_request(wrapped, *call)
    if is_lifespan(call.scope):
        return serve_lifespan(wrapped, *call)
    return wrapped(*args, **kwargs)


def observe_outermost(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Wrap `ServerErrorMiddleware.__init__`: put an observer inside, before a 500 is made."""
    _observe_inside(wrapped, args, kwargs, outermost=True)


def observe_innermost(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Wrap `ExceptionMiddleware.__init__`: put an observer below the application's middleware."""
    _observe_inside(wrapped, args, kwargs, innermost=True)


def observe_traced(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Wrap Starlette's `OpenTelemetryMiddleware.__init__`: put an observer inside its span."""
    _observe_inside(wrapped, args, kwargs, inside_tracing=True)


def observe_answering(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Wrap `__init__(app, …)` of a middleware that answers exceptions: put an observer inside."""
    _observe_inside(wrapped, args, kwargs)


def _observe_inside(
    wrapped: Wrapped, args: tuple[Any, ...], kwargs: dict[str, Any], **options: bool
) -> None:
    """Call a middleware's `__init__` with an observer around its application."""
    if args:
        args = (Observer(args[0], **options), *args[1:])
    elif "app" in kwargs:
        kwargs = {**kwargs, "app": Observer(kwargs["app"], **options)}
    wrapped(*args, **kwargs)
