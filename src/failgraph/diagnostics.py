"""What failgraph says of itself inside a user's process: counters, and one log line a kind of fault.

Nothing here raises, prints or blocks. `stats()` is the public face; `guard` is the one place that swallows an error.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

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
    logger.warning(message, *args)


@contextmanager
def guard(doing: str) -> Iterator[None]:
    """Keep an error of failgraph's own away from the user's program: count it, and log it once a kind."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the one place that swallows
        count("internal_error")
        fault = type(error).__name__
        warn_once(f"internal:{doing}:{fault}", "failgraph: %s failed (%s); the program goes on", doing, fault)


def reset_after_fork() -> None:
    """Give a forked child a lock that nobody holds, and counters of its own."""
    global _lock
    _lock = threading.RLock()
    _counters.clear()
    _said.clear()
