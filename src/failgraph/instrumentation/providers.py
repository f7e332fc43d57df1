"""failgraph's span processor on every tracer provider of this process, once on each.

failgraph never makes or sets a provider. The processor, and pydantic with it, is loaded when there
is a provider: loaded earlier, it could meet a pydantic plug-in (logfire is one) that is itself
being imported, and that plug-in could then not be loaded.
"""

from __future__ import annotations

import functools
import sys
import weakref
from typing import TYPE_CHECKING, Any

from failgraph.diagnostics import guard, logger
from failgraph.instrumentation.hook_target import Wrapped
from failgraph.text import sanitize

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

    from failgraph.recording.processor import FailureSpanProcessor

# Providers that have the processor, by `id`: logfire's cannot be hashed.
_with_processor: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


@functools.cache
def processor() -> FailureSpanProcessor:
    """Return the processor that all providers share."""
    from failgraph.recording.processor import FailureSpanProcessor

    return FailureSpanProcessor()


def provider_init(
    wrapped: Wrapped, instance: TracerProvider, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Wrap `TracerProvider.__init__`: add the processor to each provider that is made."""
    wrapped(*args, **kwargs)
    with guard("attaching"):
        from failgraph.recording.sdk_spans import is_failure_span_provider

        if not is_failure_span_provider(instance):
            add_processor(instance, f"a new {class_name(instance)}")


def add_processor(provider: Any, description: str) -> None:
    """Add the processor to `provider`, once, if it takes processors.

    Args:
        provider: A tracer provider of any library.
        description: What the provider is, for the log.
    """
    with guard("attaching"):
        if id(provider) in _with_processor:
            return
        # Not a subclass's override: that may need what the subclass's `__init__` has yet to make.
        sdk = getattr(sys.modules.get("opentelemetry.sdk.trace"), "TracerProvider", None)
        if sdk is not None and isinstance(provider, sdk):
            add = sdk.add_span_processor.__get__(provider)
        else:
            add = getattr(provider, "add_span_processor", None)
        if not callable(add):
            logger.debug("failgraph: no processor for %s: it takes no processors", description)
            return
        add(processor())
        _with_processor[id(provider)] = provider
        logger.debug("failgraph: processor attached to %s", description)


def class_name(provider: object) -> str:
    """Return the full class name of a provider, for the log."""
    return sanitize(f"{type(provider).__module__}.{type(provider).__qualname__}")
