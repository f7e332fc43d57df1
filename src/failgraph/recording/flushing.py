"""Get spans out before a process ends, in bounded time. Installs no signal handlers."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from failgraph.diagnostics import count, guard

_EXIT_TIMEOUT_S = 2.0
_LONGEST_TIMEOUT_S = 86_400.0  # infinity overflows in `Thread.join`, a year may in an exporter
_FINALIZER_PRIORITY = 0  # after the finalizers of others, which may still end spans


def flush_within(
    timeout_s: float,
    drain: Callable[[], None],
    pipelines: Callable[[], Iterable[Any]],
    *,
    at_exit: bool = False,
) -> bool:
    """Call `drain`, then flush the `pipelines`. Return True if all was done in `timeout_s` seconds.

    Not every exporter keeps the SDK's own time limit, so a daemon thread does the work and is left
    behind at the deadline. At exit, where Python 3.12.0 and 3.12.1 start no thread, this thread
    calls `drain` at least: it holds no lock then.

    Args:
        timeout_s: The time limit; a day if it is longer.
        drain: Records what waits.
        pipelines: Returns tracer providers and span processors. May raise, as the API does if a
            variable names a provider that it cannot make.
        at_exit: True if no code of the program is interrupted by this call.
    """
    with guard("flush"):
        limit_s = min(timeout_s, _LONGEST_TIMEOUT_S)
        answers: list[bool] = []

        def work() -> None:
            is_drained = is_flushed = False
            with guard("flush"):
                drain()
                is_drained = True
            with guard("flush"):
                # A list, so that each is flushed, also after one has failed.
                is_flushed = all([_flush(each, limit_s) for each in pipelines()])  # noqa: C419
            answers.append(is_drained and is_flushed)

        worker = threading.Thread(target=work, name="failgraph-flush", daemon=True)
        try:
            worker.start()
        except RuntimeError:  # the interpreter is shutting down and starts no new threads
            if at_exit:
                drain()
            return False
        worker.join(limit_s)
        if answers:
            return answers[0]
        count("flush_timeout")
    return False


def _flush(pipeline: Any, timeout_s: float) -> bool:
    """Flush a provider or processor. Return True also if it has nothing to flush."""
    force_flush = getattr(pipeline, "force_flush", None)
    with guard("flush"):
        return not callable(force_flush) or force_flush(int(timeout_s * 1000)) is not False
    return False


def call_at_exit(flush: Callable[[], object]) -> None:
    """Call `flush` once when this process ends; children of `multiprocessing` skip `atexit`."""
    atexit.unregister(flush)  # a forked child has that of its parent
    atexit.register(flush)
    process, util = (
        sys.modules.get("multiprocessing.process"),
        sys.modules.get("multiprocessing.util"),
    )
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, flush, exitpriority=_FINALIZER_PRIORITY)


class ExitFlush:
    """The flush at the end of this process; there is none before there is something to flush."""

    def __init__(self) -> None:
        self._is_registered = False
        self._has_timed_out = False

    def register(self, flush: Callable[[], object]) -> None:
        """Have `flush` called when this process ends. Takes no lock; only the first call counts."""
        if not self._is_registered:
            self._is_registered = True
            with guard("flush"):
                call_at_exit(flush)

    def run(self, flush: Callable[[float], bool]) -> None:
        """Call `flush` with its time limit if one is registered; never again once it fails."""
        if self._is_registered and not self._has_timed_out:
            self._has_timed_out = not flush(_EXIT_TIMEOUT_S)
