"""What failgraph says of itself inside a user's process: counters, and one log line a kind of fault.

Nothing here raises, prints or blocks. `stats()` is the public face; `guard` is the one place that swallows an error.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from types import TracebackType

logger = logging.getLogger("failgraph")

_MAX_FAULTS = 256
"""Distinct faults that get a line of their own; later ones are only counted."""

# Reentrant: a signal handler may record while this thread is inside count().
_lock = threading.RLock()
_counters: dict[str, int] = {}
_said: set[str] = set()


def count(name: str, by: int = 1) -> None:
    """Add `by` to the counter `name`."""
    with _lock:
        _counters[name] = _counters.get(name, 0) + by


def stats() -> Mapping[str, int]:
    """A snapshot of all counters of this process, by name; a counter that never moved is absent."""
    with _lock:
        return dict(sorted(_counters.items()))


def warn_once(fault: str, message: str, *args: object) -> None:
    """Log `message` as a warning the first time that `fault` happens in this process."""
    with _lock:
        if fault in _said or len(_said) >= _MAX_FAULTS:
            return
        _said.add(fault)
    try:
        logger.warning(message, *args)
    except Exception:  # noqa: BLE001 - a handler of the user's may raise anything
        count("log_error")


class guard:  # noqa: N801 - used as a function is
    """Keep an error of failgraph's own away from the user's program: count it, and log it once a kind.

    Whatever happens while it is counted and logged (a handler of the user's may raise) is dropped too.
    """

    __slots__ = ("_doing",)

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(exc, Exception):
            return False
        try:
            count("internal_error")
            fault = type(exc).__name__
            message = "failgraph: %s failed (%s); the program goes on"
            warn_once(f"internal:{self._doing}:{fault}", message, self._doing, fault)
        except Exception:  # noqa: BLE001, S110 - there is nobody left to tell
            pass
        return True


class _WhereNobodyListens(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to standard error while the program has no handler of its own."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().hasHandlers():
            super().emit(record)


def set_level(level: str) -> None:
    """Log from `level` on; `info` and `debug`, which somebody asked for, are shown even where no handler is set up."""
    if level == "warning" or logger.level != logging.NOTSET:
        return
    logger.setLevel(level.upper())
    if not logger.handlers:
        logger.addHandler(_WhereNobodyListens())


def reset_after_fork() -> None:
    """Give a forked child a lock that nobody holds, and counters of its own."""
    global _lock
    _lock = threading.RLock()
    _counters.clear()
    _said.clear()
