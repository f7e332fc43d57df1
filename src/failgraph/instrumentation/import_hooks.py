"""Run a function right before or right after the first import of a module.

This module is loaded in every process that has `FAILGRAPH_ENABLED` set, and most of those never
load OpenTelemetry. It therefore imports `sys` alone. `typing` would take 5 to 9 ms of such a
process (measured on Python 3.10 to 3.13).

failgraph holds no lock of its own while such a function runs: it calls code of others, which may
import modules.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # type checkers know the name; see above for why `typing` is not imported
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


def when_imported(module: str, call: Callable[[str], None]) -> None:
    """Call `call` with the name of `module` now if it is loaded, else right after its import.

    A module that waits to be loaded lazily (`importlib.util.LazyLoader`) is left waiting. `call`
    runs again when the module is reloaded. A second call for the same module replaces the first.
    """
    spec = _spec_of(sys.modules.get(module))
    _finder.after[module] = call  # also after a reload
    _install()
    if spec is not None and _is_lazy(sys.modules.get(module)):
        if not isinstance(spec.loader, _Loader):
            spec.loader = _Loader(spec.loader, _finder)  # type: ignore[assignment]
    elif module in _finder.loaded or (
        spec is not None and not getattr(spec, "_initializing", False)
    ):
        call(module)


def before_import(module: str, call: Callable[[], None]) -> None:
    """Call `call` once, right before the first import of `module`, even if there is none."""
    _finder.before[module] = call
    _install()


def is_installed() -> bool:
    """Return True if an import hook of this module is in place."""
    return _finder in sys.meta_path


def forget() -> None:
    """Drop every function that waits for a module to be loaded."""
    _finder.after.clear()


def _install() -> None:
    if not is_installed():
        sys.meta_path.insert(0, _finder)


def _spec_of(module: object) -> ModuleSpec | None:
    """Return the spec of `module`, or None. Never through `getattr`, which loads a lazy module."""
    try:
        attributes: dict[str, Any] = object.__getattribute__(module, "__dict__")
    except AttributeError:  # programs put objects of any kind into `sys.modules`
        return None
    return attributes.get("__spec__")


def _is_lazy(module: object) -> bool:
    """Return True if `module` waits for its first use to be loaded."""
    lazy = getattr(sys.modules.get("importlib.util"), "_LazyModule", None)
    return lazy is not None and issubclass(type(module), lazy)


class _Finder:
    """A finder for `sys.meta_path` that runs functions around the import of some modules.

    It finds no module itself.

    Attributes:
        before: Functions to call before the import of a module, by its name; each is called once.
        after: Functions to call after each load of a module, by its name.
        loaded: Names of the modules that were loaded through `_Loader`.
    """

    def __init__(self) -> None:
        self.before: dict[str, Callable[[], None]] = {}
        self.after: dict[str, Callable[[str], None]] = {}
        self.loaded: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the other finders have, with a loader that runs what comes after."""
        before = self.before.pop(name, None)
        if before is not None:
            before()
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
    """Wraps a module's loader and runs a function after it. The module sees the real loader."""

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
