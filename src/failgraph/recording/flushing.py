"""Getting spans out before a process ends, with a deadline that holds. Of signals nothing is changed."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from failgraph.diagnostics import count, guard


def flush_within(
    timeout_s: float, drain: Callable[[], None], providers: Callable[[], Iterable[Any]]
) -> bool:
    """Call `drain`, then flush the `providers`; whether all of that was done within `timeout_s` seconds.

    The SDK's own time limit is not kept by every exporter, so the work runs on a daemon thread that is left behind.
    """
    with guard("flush"):
        done: list[bool] = []

        def work() -> None:
            with guard("flush"):
                drain()
            with guard(
                "flush"
            ):  # the API raises where it cannot make the provider that a variable names
                done.append(all([_flushed(each, timeout_s) for each in providers()]))  # noqa: C419 - each has its turn

        worker = threading.Thread(target=work, name="failgraph-flush", daemon=True)
        try:
            worker.start()
        except RuntimeError:  # the interpreter is so far down that there are no new threads
            return False
        worker.join(timeout_s)
        if done:
            return done[0]
        count("flush_timeout")
    return False


def _flushed(provider: Any, timeout_s: float) -> bool:
    """Flush one provider; True also where there is nothing to flush."""
    flush_provider = getattr(provider, "force_flush", None)
    with guard("flush"):
        return not callable(flush_provider) or flush_provider(int(timeout_s * 1000)) is not False
    return False


def at_exit(flush: Callable[[], object]) -> None:
    """Have `flush` called when this process ends, once: at exit, which children of `multiprocessing` come past."""
    atexit.unregister(flush)  # a forked child has its parent's
    atexit.register(flush)
    process, util = (
        sys.modules.get("multiprocessing.process"),
        sys.modules.get("multiprocessing.util"),
    )
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, flush, exitpriority=_LATE)


_LATE = 0
"""After the finalizers of others, which may still end spans."""
