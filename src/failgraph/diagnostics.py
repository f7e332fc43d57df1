"""failgraph's own counters and log lines inside a user's process.

Nothing here raises, prints or blocks. `guard` is the only place that swallows an error;
`failgraph.stats` is the public way to read the counters.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Mapping
from types import TracebackType

logger = logging.getLogger("failgraph")

_MAX_FAULTS = 256  # distinct faults that get a log line of their own; later ones are only counted
_MAX_FRAMES = 40  # frames of an internal error that are logged, the innermost ones
_MAX_NAME = 200  # characters of a file or function name in a log line

# Reentrant: a signal handler may record while this thread is inside count().
_lock = threading.RLock()
_counters: dict[str, int] = {}
_warned: set[str] = set()
_traced: set[str] = set()


def count(name: str, by: int = 1) -> None:
    """Add `by` to the counter `name`."""
    with _lock:
        _counters[name] = _counters.get(name, 0) + by


def stats() -> Mapping[str, int]:
    """Return a snapshot of this process's counters, sorted by name. Counters at zero are absent."""
    with _lock:
        return dict(sorted(_counters.items()))


def warn_once(fault: str, message: str, *args: object) -> None:
    """Log `message` as a warning, the first time that `fault` happens in this process."""
    if _is_first(fault, _warned):
        _log(logging.WARNING, message, *args)


def _is_first(fault: str, known: set[str]) -> bool:
    """Add `fault` to `known`. Return False if it was there, or if `known` is full."""
    with _lock:
        if fault in known or len(known) >= _MAX_FAULTS:
            return False
        known.add(fault)
        return True


def _log(level: int, message: str, *args: object) -> None:
    try:
        logger.log(level, message, *args)
    except Exception:  # noqa: BLE001 - a log handler of the program may raise anything
        count("log_error")


class guard:  # noqa: N801 - used like a function
    """Keep an internal error of failgraph away from the user's program.

    The error is counted, and logged as a warning once per `doing` and exception type. At debug
    level its frames follow, once per place. Anything raised while logging is dropped too.
    Cancellations and exits pass.

    Args:
        doing: What failgraph is doing in the block, for the log line.
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
            error = type(exc).__name__
            message = "failgraph: %s failed (%s); the program goes on"
            warn_once(f"internal:{self._doing}:{error}", message, self._doing, error)
            _log_frames(f"{self._doing} failed ({error})", traceback)
        except Exception:  # noqa: BLE001, S110 - there is nowhere left to report it
            pass
        return True


def _log_frames(fault: str, traceback: TracebackType | None) -> None:
    """Log the frames of an internal error at debug level, once per fault and place.

    A frame is its file, line and function. The exception's text and the values of variables are not
    logged: they may hold what the user's program works on.
    """
    if not logger.isEnabledFor(logging.DEBUG):
        return
    innermost: deque[TracebackType] = deque(maxlen=_MAX_FRAMES)
    depth = 0
    while traceback is not None:
        innermost.append(traceback)
        depth += 1
        traceback = traceback.tb_next
    lines = [_frame_line(each) for each in innermost]
    if not lines or not _is_first(f"{fault} {lines[-1]}", _traced):
        return
    if depth > _MAX_FRAMES:
        lines.insert(0, f"  ({depth - _MAX_FRAMES} outer frames left out)")
    _log(logging.DEBUG, "failgraph: %s at:\n%s", fault, "\n".join(lines))


def _frame_line(traceback: TracebackType) -> str:
    """Return file, line and function of a frame. Reads no source file."""
    code = traceback.tb_frame.f_code
    file, function = _one_line(code.co_filename), _one_line(code.co_name)
    return f'  File "{file}", line {traceback.tb_lineno}, in {function}'


def _one_line(name: str) -> str:
    """Return the end of `name` with control characters escaped: generated code has any name."""
    return repr(name[-_MAX_NAME:])[1:-1]


class _FallbackHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to standard error for as long as the program has no handler of its own."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().hasHandlers():
            super().emit(record)


def set_level(level: str) -> None:
    """Log from `level` on.

    `info` and `debug` lines are also shown in a program that sets up no log handler. Does nothing
    if the program has set the level of the logger `failgraph` itself.

    Args:
        level: `warning`, `info` or `debug`.
    """
    if level == "warning" or logger.level != logging.NOTSET:
        return
    logger.setLevel(level.upper())
    if not logger.handlers:
        logger.addHandler(_FallbackHandler())


def reset_after_fork() -> None:
    """Give a forked child its own counters, and a lock that no thread of the parent holds."""
    global _lock
    _lock = threading.RLock()
    _counters.clear()
    _warned.clear()
    _traced.clear()
