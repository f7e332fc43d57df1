"""The one way in: a processor on every provider of this process, and the hooks on its spans.

Providers made later are reached through `TracerProvider.__init__`; those of before by one look at the global one. No
provider is ever made or set here: the application's own must find its place free.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import wrapt
from opentelemetry import trace
from opentelemetry.sdk.trace import Span, TracerProvider

from failgraph.diagnostics import guard, logger, set_level
from failgraph.instrumentation import leaving
from failgraph.placement import shares_a_pipeline
from failgraph.processor import FailureSpanProcessor
from failgraph.settings import current

_lock = threading.Lock()
_processor = FailureSpanProcessor()
_reached: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
"""The providers that have our processor, by `id`: logfire's cannot be hashed."""
_hooks: list[_Hook] = []


class _Hook:
    """A wrapper of ours on a method; taken off again only where nobody has wrapped it since."""

    def __init__(self, owner: type, name: str, wrapper: Callable[..., Any]) -> None:
        self._owner, self._name, self._original = owner, name, vars(owner)[name]
        self.active = True
        wrapt.wrap_function_wrapper(owner.__module__, f"{owner.__qualname__}.{name}", self._call)
        self._wrapper, self._ours = wrapper, vars(owner)[name]

    def _call(self, wrapped: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._wrapper(wrapped, instance, args, kwargs) if self.active else wrapped(*args, **kwargs)

    def remove(self) -> None:
        """Take the wrapper off, or silence it where somebody else's stands on it."""
        self.active = False
        if vars(self._owner)[self._name] is self._ours:
            setattr(self._owner, self._name, self._original)


def attach(way: str, *, provider: Any = None, look: bool = True) -> None:
    """Attach failgraph to this process, once however often it is called and by whichever ways; log what was done.

    `provider` gets the processor too. `look` is for a provider that may have been set before.
    """
    settings = current()
    set_level(settings.log_level)
    if settings.enabled is False:
        logger.debug("failgraph: not attached (%s): FAILGRAPH_ENABLED=false", way)
        return
    with _lock:
        first = not _hooks
        if first:
            _hooks.append(_Hook(TracerProvider, "__init__", _after_init))
            _hooks.extend(_Hook(Span, name, wrapper) for name, wrapper in leaving.HOOKS.items())
            logger.info("failgraph: attached (%s)", way)
        else:
            logger.debug("failgraph: already attached (%s)", way)
    if provider is not None:
        _reach(provider, f"the given {_name(provider)}")
    if first and look:
        present = trace.get_tracer_provider()
        _reach(present, f"the global {_name(present)}, set before")


def detach() -> None:
    """Take off what `attach` put on, and nothing else; a processor stays in its provider, where it does nothing."""
    with _lock:
        for hook in _hooks:
            hook.remove()
        _hooks.clear()
    logger.info("failgraph: detached")


def _reach(provider: Any, what: str) -> None:
    """Put our processor on a provider that takes one, once."""
    with guard("attaching"):
        if id(provider) in _reached:
            return
        # Not an override: a provider that is still being made may not be ready for its own.
        add = (
            TracerProvider.add_span_processor.__get__(provider)
            if isinstance(provider, TracerProvider)
            else getattr(provider, "add_span_processor", None)
        )
        if not callable(add):
            logger.debug("failgraph: no processor for %s: it takes none", what)
            return
        add(_processor)
        _reached[id(provider)] = provider
        logger.debug("failgraph: processor attached to %s", what)


def _after_init(
    wrapped: Callable[..., Any], instance: TracerProvider, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    wrapped(*args, **kwargs)
    if not shares_a_pipeline(instance):
        _reach(instance, f"a new {_name(instance)}")


def _name(provider: object) -> str:
    return f"{type(provider).__module__}.{type(provider).__qualname__}"
