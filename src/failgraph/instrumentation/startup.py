"""What the start-up files `failgraph.pth` and `failgraph.start` call: wait for OpenTelemetry's SDK, then attach.

Of the standard library alone, and as little of it as can be: this runs in every process that has the variable set, most
of which never load OpenTelemetry.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

WAY = "start-up file"
HOOKED = (
    "opentelemetry.sdk.trace",
    "starlette.applications",
    "starlette.middleware.errors",
    "starlette.middleware.exceptions",
    "starlette.middleware.opentelemetry",
    "aiohttp.client_reqrep",
    "httpx",
    "requests.adapters",
    "nemo_gym.server_utils",
    "nemo_gym.rollout_correlation",
    "nemo_gym.judge",
    "nemo_gym.sandbox.api",
    "nemo_gym.rollout_collection",
    "nemo_gym.base_environment_server",
    "nemo_gym.telemetry.endpoints",
    "nemo_gym.core.failure_transport",
    "nemo_gym.server_runtime.request_handling.exception_handling",
)
"""The modules at whose first import we attach."""
_loaded_before: set[str] = set()


def start() -> None:
    """Begin, where `FAILGRAPH_ENABLED` is `true`. Idempotent: a start-up file can be processed more than once."""
    said = os.environ.get("FAILGRAPH_ENABLED", "").strip().lower()
    if said != "true":
        if said not in ("", "false"):
            _tell_settings()
        return
    if _finder in sys.meta_path:
        return
    automatic = os.environ.get("FAILGRAPH_AUTO_INSTRUMENT", "").strip().lower() == "true"
    from_sitecustomize = "sitecustomize" in sys.modules
    if automatic and not from_sitecustomize:
        # `site` imports it once all paths are known, whether there is one or not.
        _finder.before["sitecustomize"] = _auto_instrument
    if os.environ.get("FAILGRAPH_LOG_LEVEL", "").strip().lower() == "debug":
        _debug()
    _loaded_before.update(module for module in HOOKED if module in sys.modules)
    for module in HOOKED:
        when_imported(module, _attach)
    if automatic and from_sitecustomize:
        _auto_instrument()


def when_imported(module: str, call: Callable[[str], None]) -> None:
    """Call `call` with the name of `module` once that is loaded: now, or right after its first import.

    A module that waits to be loaded lazily (`importlib.util.LazyLoader`) is left waiting.
    """
    spec = _spec_of(sys.modules.get(module))
    _finder.after[module] = call  # also after a reload
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    if spec is not None and _is_lazy(sys.modules.get(module)):
        if not isinstance(spec.loader, _Loader):
            spec.loader = _Loader(spec.loader, _finder)  # type: ignore[assignment]
    elif module in _finder.loaded or (
        spec is not None and not getattr(spec, "_initializing", False)
    ):
        call(module)


def _spec_of(module: object) -> ModuleSpec | None:
    """Return the spec of `module`, or None. Never through `getattr`, which loads a lazy module."""
    try:
        return object.__getattribute__(module, "__dict__").get("__spec__")  # type: ignore[no-any-return]
    except AttributeError:  # programs put objects of any kind into `sys.modules`
        return None


def _is_lazy(module: object) -> bool:
    """Return True if `module` waits for its first use to be loaded."""
    lazy = getattr(sys.modules.get("importlib.util"), "_LazyModule", None)
    return lazy is not None and issubclass(type(module), lazy)


def forget() -> None:
    """Wait for no import any more."""
    _finder.after.clear()


class _Finder:
    """Runs something just before, or just after, the first import of a module; finds no module itself."""

    def __init__(self) -> None:
        self.before: dict[str, Callable[[], None]] = {}
        self.after: dict[str, Callable[[str], None]] = {}
        self.loaded: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders have, with a loader that runs what is to come after it."""
        if name in self.before:
            self.before.pop(name)()
        if name not in self.after:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find is not None else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self)  # type: ignore[assignment]
                return spec
        return None


class _Loader:
    """The loader of a module that something comes after; the module itself gets to see the real one."""

    def __init__(self, loader: Any, finder: _Finder) -> None:
        self._loader = loader
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        if name == "_loader":  # a copy of this object has no attributes yet
            raise AttributeError(name)
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._finder.loaded.add(module.__name__)
        after = self._finder.after.get(module.__name__)
        if after is not None:
            after(module.__name__)


_finder = _Finder()


def _attach(module: str) -> None:
    """Attach at the first import of a module that is hooked."""
    try:
        from failgraph.instrumentation.attach import attach

        # A provider that is there already can be only where the SDK was loaded before us.
        attach(WAY, look=HOOKED[0] in _loaded_before)
    except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program starts
        forget()
        _tell(
            "failgraph cannot attach itself (%s: %s); the program goes on",
            type(error).__name__,
            error,
        )


def _auto_instrument() -> None:
    """Start OpenTelemetry's auto-instrumentation, as `opentelemetry-instrument` does, unless that does it already."""
    marker = os.path.join("opentelemetry", "instrumentation", "auto_instrumentation")
    if any(marker in entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        return
    # Not in the Python processes that this step itself may start.
    said = os.environ.pop("FAILGRAPH_AUTO_INSTRUMENT", "")
    try:
        __import__("opentelemetry.instrumentation.auto_instrumentation.sitecustomize")
    except ImportError as error:
        fix = 'pip install "failgraph[auto]"'
        _tell(
            "failgraph: FAILGRAPH_AUTO_INSTRUMENT needs OpenTelemetry's instrumentation (%s): %s",
            error,
            fix,
        )
    except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program starts
        _tell("failgraph: auto-instrumentation failed (%s: %s)", type(error).__name__, error)
    finally:
        os.environ["FAILGRAPH_AUTO_INSTRUMENT"] = said


def _tell_settings() -> None:
    try:
        from failgraph.settings import current

        current()  # says what is wrong with them
    except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program starts
        _tell("failgraph cannot read its settings (%s)", type(error).__name__)


def _debug() -> None:
    try:
        from failgraph.diagnostics import logger, set_level

        set_level("debug")
        logger.debug("failgraph: start-up file processed; waiting for opentelemetry.sdk.trace")
    except Exception as error:  # noqa: BLE001 - whatever fails here, the user's program starts
        _tell("failgraph cannot log (%s)", type(error).__name__)


def _tell(message: str, *args: object) -> None:
    import logging

    logging.getLogger("failgraph").warning(message, *args)
