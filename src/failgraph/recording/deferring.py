"""Failures that are recorded a little later: where they were met, a finalizer or a signal handler, nothing may lock."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NamedTuple

from opentelemetry.trace import Span

from failgraph.context import Birth
from failgraph.diagnostics import count
from failgraph.recording.observation import Hints

MAX_WAITING = 1024
"""Failures that wait at most; further ones are refused and counted."""


class Deferred(NamedTuple):
    """One that waits."""

    failure: object
    """What was handed in, or what was observed of it already."""
    hints: Hints
    birth: Birth
    span: Span | None
    own: bool


class Waiting:
    """The queue of them; putting takes no lock."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Deferred] = SimpleQueue()
        self._refused = 0
        self.some = False
        """Whether any may wait, or was refused and is not counted yet."""
        self._taking = threading.local()

    def __len__(self) -> int:
        """How many wait."""
        return self._queue.qsize()

    def put(self, deferred: Deferred) -> bool:
        """Let one wait; whether there was room."""
        if self._queue.qsize() >= MAX_WAITING:
            self._refused += 1
            self.some = True
            return False
        self._queue.put(deferred)
        self.some = True
        return True

    def taken(self) -> Iterator[Deferred]:
        """Each that waits now, oldest first: more may come faster than they are recorded.

        A thread that is at it already gets none: what it records ends spans, too.
        """
        if getattr(self._taking, "now", False):
            return
        self.some = False  # before the look: what comes later says so again
        if self._refused:
            count("deferred_refused", self._refused)
            self._refused = 0
        self._taking.now = True
        try:
            with suppress(Empty):  # another thread may have taken the last
                for _ in range(self._queue.qsize()):
                    yield self._queue.get_nowait()
        finally:
            self._taking.now = False
            if self._queue.qsize():
                self.some = True
