"""The methods and functions that failgraph wraps, and how they are wrapped and unwrapped.

A target is wrapped when its module has been loaded. The wrapper itself is loaded when it is first
called, because it brings most of failgraph along.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import wrapt

from failgraph.diagnostics import count, guard, logger, warn_once
from failgraph.instrumentation.error_description import describe_error
from failgraph.instrumentation.gym import released, upcoming
from failgraph.instrumentation.hook_target import HookTarget, Wrapped
from failgraph.text import sanitize

# By the module whose import is waited for.
TARGETS: Final[Mapping[str, tuple[HookTarget, ...]]] = {
    "opentelemetry.sdk.trace": (
        HookTarget("TracerProvider", "__init__", "providers:provider_init"),
        HookTarget("Span", "record_exception", "span_exceptions:record_exception"),
        HookTarget("Span", "__exit__", "span_exceptions:span_exit"),
        HookTarget("Span", "set_status", "span_exceptions:set_status"),
    ),
    "starlette.applications": (HookTarget("Starlette", "__call__", "starlette:application_call"),),
    "starlette.middleware.errors": (
        HookTarget("ServerErrorMiddleware", "__init__", "starlette:observe_outermost"),
    ),
    "starlette.middleware.exceptions": (
        HookTarget("ExceptionMiddleware", "__init__", "starlette:observe_innermost"),
    ),
    "starlette.middleware.opentelemetry": (
        HookTarget("OpenTelemetryMiddleware", "__init__", "starlette:observe_traced"),
    ),
    "aiohttp.client_reqrep": (
        HookTarget("ClientRequest", "send", "http_clients:aiohttp_send"),
        HookTarget("ClientResponse", "start", "http_clients:aiohttp_start"),
    ),
    "httpx": (
        HookTarget("Client", "_send_single_request", "http_clients:httpx_send"),
        HookTarget("AsyncClient", "_send_single_request", "http_clients:httpx_send_async"),
    ),
    "requests.adapters": (HookTarget("HTTPAdapter", "send", "http_clients:requests_send"),),
    **released.TARGETS,
    **upcoming.TARGETS,
}

_hooks: dict[str, _Hook] = {}  # by the full name of the target
_missing: dict[str, str] = {}  # why a target is not hooked, by its full name


class _Hook:
    """A wrapper of failgraph's on one method or function."""

    def __init__(self, owner: type | ModuleType, name: str, wrapper: str) -> None:
        self.owner = owner
        self._name = name
        self._original = vars(owner)[name]
        self._wrapper_path = wrapper
        self._wrapper: Wrapped | None = None
        self._is_active = True
        self._installed = wrapt.FunctionWrapper(self._original, self._call)
        setattr(owner, name, self._installed)

    def _call(
        self, wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if self._is_active and self._wrapper is None:
            self._load_wrapper()
        if not self._is_active or self._wrapper is None:
            return wrapped(*args, **kwargs)
        return self._wrapper(wrapped, instance, args, kwargs)

    def _load_wrapper(self) -> None:
        try:
            module, _, function = self._wrapper_path.partition(":")
            self._wrapper = getattr(import_module(f"{__package__}.{module}"), function)
        except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program goes on
            self._is_active = False
            count("hook_failed")
            warn_once(
                f"hook:{type(error).__name__}",
                "failgraph: cannot load hook %s (%s); the program goes on without it",
                self._wrapper_path,
                describe_error(error),
            )

    def remove(self) -> None:
        """Put the original back. If somebody wrapped it since, only stop acting."""
        self._is_active = False
        if vars(self.owner)[self._name] is self._installed:
            setattr(self.owner, self._name, self._original)


def install(module: str) -> None:
    """Wrap the targets of `module`, which is loaded. Skip those that are wrapped already."""
    for target in TARGETS[module]:
        with guard("hooking"):
            _install(target, target.defined_in or module)


def _install(target: HookTarget, module: str) -> None:
    name = ".".join(filter(None, (module, target.owner, target.method)))
    owner: object = sys.modules.get(module)
    if target.owner:
        owner = getattr(owner, target.owner, None)
    # A reload makes another class of the same name, which is not wrapped yet.
    if name in _hooks and _hooks[name].owner is owner:
        return
    if not isinstance(owner, (type, ModuleType)) or not callable(vars(owner).get(target.method)):
        _note_missing(name, "not found", "hook_missing")
        return
    _hooks[name] = _Hook(owner, target.method, target.wrapper)
    logger.debug("failgraph: hooked %s", name)


def note_unfit(name: str, reason: str) -> None:
    """Note that the hooked `name` has changed, so that its hook sees nothing. The rest works."""
    _note_missing(name, sanitize(reason), "hook_unfit")


def _note_missing(name: str, reason: str, counter: str) -> None:
    if name not in _missing:
        count(counter)
        logger.debug("failgraph: no hook on %s: %s", name, reason)
    _missing[name] = reason


def missing() -> Mapping[str, str]:
    """Return why targets in loaded modules are not hooked, by the full name of the target."""
    return dict(_missing)


def remove_all() -> None:
    """Remove every wrapper of failgraph's, and nothing else."""
    for hook in _hooks.values():
        hook.remove()
    _hooks.clear()
    _missing.clear()
