"""Our processor on every provider of this process, once each; no provider is ever made or set here.

The rest of failgraph, and pydantic with it, is loaded when there is a provider: earlier, a plug-in of pydantic's that
is being imported itself (logfire is one) could not be loaded.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from failgraph.diagnostics import guard, logger

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

    from failgraph.recording.processor import FailureSpanProcessor

_with_processor: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
"""The providers that have it, by `id`: logfire's cannot be hashed."""


@functools.cache
def processor() -> FailureSpanProcessor:
    """The one that all providers get."""
    from failgraph.recording.processor import FailureSpanProcessor

    return FailureSpanProcessor()


def provider_init(
    wrapped: Callable[..., Any],
    instance: TracerProvider,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """`TracerProvider.__init__`: reach each provider as it is made."""
    wrapped(*args, **kwargs)
    with guard("attaching"):
        from failgraph.recording.sdk_spans import is_failure_span_provider

        if not is_failure_span_provider(instance):
            add_processor(instance, f"a new {class_name(instance)}")


def add_processor(provider: Any, description: str) -> None:
    """Put our processor on a provider that takes one, once."""
    with guard("attaching"):
        if id(provider) in _with_processor:
            return
        # Not an override: a provider that is still being made may not be ready for its own.
        sdk = getattr(sys.modules.get("opentelemetry.sdk.trace"), "TracerProvider", None)
        if sdk is not None and isinstance(provider, sdk):
            add = sdk.add_span_processor.__get__(provider)
        else:
            add = getattr(provider, "add_span_processor", None)
        if not callable(add):
            logger.debug("failgraph: no processor for %s: it takes none", description)
            return
        add(processor())
        _with_processor[id(provider)] = provider
        logger.debug("failgraph: processor attached to %s", description)


def class_name(provider: object) -> str:
    """The class of a provider, for a log line."""
    return f"{type(provider).__module__}.{type(provider).__qualname__}"
