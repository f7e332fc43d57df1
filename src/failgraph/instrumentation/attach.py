"""The one way in, whoever calls it and however often: hooks on what is loaded, and on what will be.

Providers made later are reached as they are made; one of before by one look at the global one. The application's own
must find its place free: none is made or set here.
"""

from __future__ import annotations

import threading
from typing import Any

from opentelemetry import trace

from failgraph.diagnostics import logger, set_level
from failgraph.instrumentation import hooks, import_hooks
from failgraph.instrumentation.providers import add_processor, class_name
from failgraph.settings import current

_lock = threading.Lock()
_attached = False


def attach(way: str, *, provider: Any = None, include_global: bool = True) -> None:
    """Attach failgraph to this process, once however often it is called and by whichever ways; log what was done.

    `provider` gets the processor too. `look` is for a provider that may have been set before.
    """
    global _attached
    settings = current()
    set_level(settings.log_level)
    if settings.enabled is False:
        logger.debug("failgraph: not attached (%s): FAILGRAPH_ENABLED=false", way)
        return
    # The lock is held for the flag alone: hooks and log handlers run foreign code, which may import and so come back.
    with _lock:
        first, _attached = not _attached, True
    if first:
        logger.info("failgraph: attached (%s)", way)
        for module in hooks.TARGETS:
            import_hooks.when_imported(module, hooks.install)
    else:
        logger.debug("failgraph: already attached (%s)", way)
    if provider is not None:
        add_processor(provider, f"the given {class_name(provider)}")
    if first and include_global:
        present = trace.get_tracer_provider()
        add_processor(present, f"the global {class_name(present)}, set before")


def detach() -> None:
    """Take off what `attach` put on, and nothing else; a processor stays in its provider, where it does nothing."""
    global _attached
    import_hooks.forget()
    hooks.remove_all()
    with _lock:
        _attached = False
    logger.info("failgraph: detached")
