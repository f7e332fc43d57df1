"""Attach failgraph to this process: the one way in, however it was enabled.

Loaded modules are hooked at once, others when they are imported. Tracer providers are reached as
they are made; one that was made before is reached if it is the global one. failgraph never makes
or sets a provider, since the application could then not set its own.
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


def attach(caller: str, *, provider: Any = None, include_global: bool = True) -> None:
    """Attach failgraph to this process, once however often it is called.

    Args:
        caller: Who attaches, for the log.
        provider: A tracer provider that gets failgraph's processor too.
        include_global: Also reach the global provider, which may have been set before.
    """
    global _attached
    settings = current()
    set_level(settings.log_level)
    if settings.enabled is False:
        logger.debug("failgraph: not attached (%s): FAILGRAPH_ENABLED=false", caller)
        return
    # The lock guards the flag alone. Hooks and log handlers run code of others, which may import a
    # module that calls this function again.
    with _lock:
        is_first, _attached = not _attached, True
    if is_first:
        logger.info("failgraph: attached (%s)", caller)
        for module in hooks.TARGETS:
            import_hooks.when_imported(module, hooks.install)
    else:
        logger.debug("failgraph: already attached (%s)", caller)
    if provider is not None:
        add_processor(provider, f"the given {class_name(provider)}")
    if is_first and include_global:
        present = trace.get_tracer_provider()
        add_processor(present, f"the global {class_name(present)}, set before")


def detach() -> None:
    """Undo `attach`, and nothing else. A processor stays in its provider, where it does nothing."""
    global _attached
    import_hooks.forget()
    hooks.remove_all()
    with _lock:
        _attached = False
    logger.info("failgraph: detached")
