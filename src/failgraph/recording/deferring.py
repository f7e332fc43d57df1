"""Failures that are recorded a little later, because they were met where no lock may be taken.

That is in finalizers and signal handlers: the interrupted code may hold a lock of OpenTelemetry's
SDK.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NamedTuple

from opentelemetry.trace import Span

from failgraph.context import Moment
from failgraph.diagnostics import count
from failgraph.recording.observation import Hints

MAX_DEFERRED = 1024
"""Failures that may wait; further ones are refused and counted."""


class DeferredFailure(NamedTuple):
    """One failure that waits.

    Attributes:
        failure: What was handed in, or `Observations` that were made of it already.
        hints: What the caller added.
        birth: Where it was met.
        span: The span that the caller named, or None.
        is_own: True if it is to be the own failure of its hop.
    """

    failure: object
    hints: Hints
    birth: Moment
    span: Span | None
    is_own: bool


class DeferredQueue:
    """The failures that wait. `put` takes no lock.

    Attributes:
        may_have_work: True if a failure waits, or was refused and is not counted yet.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[DeferredFailure] = SimpleQueue()
        self._refused = 0
        self.may_have_work = False
        self._draining = threading.local()

    def __len__(self) -> int:
        """Return the number of failures that wait."""
        return self._queue.qsize()

    def put(self, deferred: DeferredFailure) -> bool:
        """Add a failure. Return False if there is no room for it."""
        if self._queue.qsize() >= MAX_DEFERRED:
            self._refused += 1
            self.may_have_work = True
            return False
        self._queue.put(deferred)
        self.may_have_work = True
        return True

    def drain(self) -> Iterator[DeferredFailure]:
        """Yield each failure that waits now, oldest first.

        Failures that come meanwhile wait: they may come faster than they are recorded.

        A thread that is draining already gets none: what it records ends spans, and so comes back
        here.
        """
        if getattr(self._draining, "active", False):
            return
        self.may_have_work = False  # before looking: a failure that comes meanwhile sets it again
        if self._refused:
            count("deferred_refused", self._refused)
            self._refused = 0
        self._draining.active = True
        try:
            with suppress(Empty):  # another thread may have taken the last one
                for _ in range(self._queue.qsize()):
                    yield self._queue.get_nowait()
        finally:
            self._draining.active = False
            if self._queue.qsize():
                self.may_have_work = True
