"""Getting spans out before a process ends, with a deadline that holds."""

from __future__ import annotations

import threading
from typing import Any

from opentelemetry import trace

from failgraph.diagnostics import count, guard
from failgraph.recorder import recorder


def flush(timeout_s: float = 2.0) -> bool:
    """Record what was deferred and flush the span processors; whether all of that was done within `timeout_s` seconds.

    The SDK's own time limit is not kept by every exporter, so the work runs on a daemon thread that is left behind.
    Reaches the global provider, and each provider whose spans failures were written for.
    """
    with guard("flush"):
        done: list[bool] = []

        def work() -> None:
            with guard("flush"):
                recorder().drain()
            providers: list[Any] = [trace.get_tracer_provider(), *recorder().pipelines.known()]
            done.append(all([_flushed(provider, timeout_s) for provider in providers]))  # noqa: C419 - each has its turn

        worker = threading.Thread(target=work, name="failgraph-flush", daemon=True)
        worker.start()
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
