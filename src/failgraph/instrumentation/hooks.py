"""The methods and functions that failgraph wraps, and the wrapping: put on once a module is there, taken off again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import wrapt

from failgraph.diagnostics import count, guard, logger, warn_once
from failgraph.instrumentation.gym import released, upcoming
from failgraph.instrumentation.hook_target import HookTarget

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
"""What is wrapped, by the module that has to be there."""

_hooks: dict[tuple[str, str, str], _Hook] = {}
_missing: dict[str, str] = {}


class _Hook:
    """A wrapper of ours on a method or a function; taken off again only where nobody has wrapped it since."""

    def __init__(self, owner: type | ModuleType, name: str, wrapper: str) -> None:
        self.owner, self._name, self._original = owner, name, vars(owner)[name]
        self.active = True
        self._where = wrapper
        self._wrapper: Callable[..., Any] | None = None
        self._ours = wrapt.FunctionWrapper(self._original, self._call)
        setattr(owner, name, self._ours)

    def _call(
        self,
        wrapped: Callable[..., Any],
        instance: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        if self.active and self._wrapper is None:
            self._load()
        if not self.active or self._wrapper is None:
            return wrapped(*args, **kwargs)
        return self._wrapper(wrapped, instance, args, kwargs)

    def _load(self) -> None:
        """Load the wrapper at its first use, since it brings the rest of failgraph along."""
        try:
            home, _, function = self._where.partition(":")
            self._wrapper = getattr(import_module(f"{__package__}.{home}"), function)
        except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program goes on
            self.active = False
            count("hook_failed")
            message = "failgraph cannot attach itself (%s: %s); the program goes on"
            warn_once(f"hook:{type(error).__name__}", message, type(error).__name__, error)

    def remove(self) -> None:
        """Take the wrapper off, or silence it where somebody else's stands on it."""
        self.active = False
        if vars(self.owner)[self._name] is self._ours:
            setattr(self.owner, self._name, self._original)


def install(module: str) -> None:
    """Wrap what is to be wrapped in `module`, which is loaded; what is wrapped already stays."""
    for target in TARGETS[module]:
        home = target.home or module
        key = (home, target.owner, target.method)
        with guard("hooking"):
            owner = sys.modules.get(home)
            owner = getattr(owner, target.owner, None) if target.owner else owner
            if key in _hooks and _hooks[key].owner is owner:
                continue  # another one is there after a reload
            if not isinstance(owner, (type, ModuleType)) or not callable(
                vars(owner).get(target.method)
            ):
                _note_missing(".".join(filter(None, key)))
                continue
            _hooks[key] = _Hook(owner, target.method, target.wrapper)
            logger.debug("failgraph: hooked %s.%s.%s", *key)


def _note_missing(name: str) -> None:
    if name not in _missing:
        count("hook_missing")
        logger.debug("failgraph: there is no %s to hook", name)
    _missing[name] = "not there"


def note_unfit(name: str, why: str) -> None:
    """Note that what is hooked as `name` is there but has changed: its hook sees nothing, the rest works."""
    if name not in _missing:
        count("hook_unfit")
        logger.debug("failgraph: the hook on %s does not fit: %s", name, why)
    _missing[name] = why


def missing() -> Mapping[str, str]:
    """What was to be hooked in the modules that are loaded, and is not, by its full name: why."""
    return dict(_missing)


def remove_all() -> None:
    """Take off every wrapper of ours, and nothing else."""
    for hook in _hooks.values():
        hook.remove()
    _hooks.clear()
    _missing.clear()
