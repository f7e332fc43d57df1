"""The target of a hook as data, and the type of the function that a wrapper receives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Wrapped = Callable[..., Any]  # the original method or function, bound, as wrapt gives it


class HookTarget(NamedTuple):
    """A method of a class or a function of a module, and the wrapper for it.

    Attributes:
        owner: Name of the class; empty for a function of the module itself.
        method: Name of the method or function.
        wrapper: The wrapper as `module:function`, relative to `failgraph.instrumentation`.
        defined_in: Name of the module that holds the owner; empty if it is the module whose import
            is waited for. It is loaded by then.
    """

    owner: str
    method: str
    wrapper: str
    defined_in: str = ""
