"""What is to be wrapped, as data: one entry a method or function."""

from __future__ import annotations

from typing import NamedTuple


class HookTarget(NamedTuple):
    """A method of a class, or a function of a module."""

    owner: str
    """The class; empty: the module itself."""
    method: str
    wrapper: str
    """`module:function` in this package."""
    home: str = ""
    """The module that the owner is in, where that is another one, loaded by then."""
