"""Look at an exception on its way out."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from failgraph.diagnostics import guard


class on_exception:  # noqa: N801 - used like a function
    """Context manager: call `look` with an exception that leaves the block, and let it through.

    Cancellations and exits are not looked at.

    Args:
        doing: What failgraph is doing, for the log line if `look` fails.
        look: Called with the exception.
    """

    def __init__(self, doing: str, look: Callable[[Exception], object]) -> None:
        self._doing = doing
        self._look = look

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            with guard(self._doing):
                self._look(error)
