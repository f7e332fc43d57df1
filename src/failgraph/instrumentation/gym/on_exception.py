"""An exception that passes a hook: looked at, and let through untouched."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from failgraph.diagnostics import guard


class on_exception:  # noqa: N801 - used as a function is
    """Show an exception that leaves the block to `look`; a cancellation is none of it."""

    def __init__(self, doing: str, look: Callable[[Exception], object]) -> None:
        self._doing, self._look = doing, look

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            with guard(self._doing):
                self._look(error)
