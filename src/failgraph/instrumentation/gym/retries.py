"""Tries that fail again and again: the first ones are told, later ones are counted, at growing intervals.

Gym sends a request that nobody answers again every half second, for ever. The first such try of a call is told at once,
on a failure span, which ends and so is exported while the call, and the rollout, still hangs; so is each count of later
ones. A model's API that answers with errors for ever is told of in the same way, from some attempts on.
"""

from __future__ import annotations

import asyncio
import weakref
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

from failgraph.instrumentation.gym.current_request import current_gym_request
from failgraph.instrumentation.gym.observing import (
    GymFailure,
    reason_of,
    record_failure,
    set_failure_id,
)
from failgraph.instrumentation.gym.vocabulary import kind_of_exception, route, stage_of

FIRST_PAUSE_S: Final = 5.0
"""Between the first failing try and the next that is told; doubled each time."""
LONGEST_PAUSE_S: Final = 600.0
SAME_CALL_S: Final = 2.0
"""A try that begins so soon after a failing one of the same request, in the same task, is of the same call."""


class RepeatedFailure:
    """The same failure again and again: what was told of it, and how many came since."""

    def __init__(self) -> None:
        self.tries = 0
        self.failure_id: str | None = None
        """Of the failure that was told last: later ones stand for it."""
        self._last: GymFailure | None = None
        self._unreported = 0
        self._reported_at = 0.0
        self._pause = FIRST_PAUSE_S

    def reported(self, failure: GymFailure, failure_id: str | None) -> str | None:
        """One is told by itself."""
        self._last, self.failure_id, self._reported_at = failure, failure_id, monotonic()
        return failure_id

    def add(self, failure: GymFailure, error: Exception | None = None) -> str | None:
        """One more: told with all since the last, when it is time; else counted."""
        if self._last is None or self._last.kind != failure.kind:
            self.report_pending("then it failed in another way")
            self._pause = FIRST_PAUSE_S
            return self.reported(failure, record_failure(failure, error, at_once=True))
        self._last = failure
        self._unreported += 1
        if monotonic() - self._reported_at >= self._pause:
            self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
            self.report_pending("and it goes on")
        if error is not None and self.failure_id is not None:
            set_failure_id(error, self.failure_id)
        return self.failure_id

    def report_pending(self, so_far: str) -> None:
        """Tell of those that were only counted."""
        if self._last is None or not self._unreported:
            return
        reason = f"{self._unreported} more tries failed, {so_far}: {self._last.reason}"
        self._unreported = 0
        self.reported(self._last, record_failure(self._last._replace(reason=reason), at_once=True))


class _UnansweredCall(RepeatedFailure):
    """A call that gets no reply."""

    def __init__(self, method: str, url: str) -> None:
        super().__init__()
        self.request = (method, url)
        self.ended_at = monotonic()


_calls: weakref.WeakKeyDictionary[asyncio.Task[Any], _UnansweredCall] = weakref.WeakKeyDictionary()
"""What each task is calling without an answer; empty while all goes well."""


def reply_received() -> None:
    """A try got its reply: what was not told of the ones before it is told now."""
    task = asyncio.current_task() if _calls else None
    call = _calls.pop(task, None) if task is not None else None
    if call is not None:
        call.report_pending("then a reply came")


def no_reply(method: str, url: str, began: float, error: Exception) -> None:
    """A try that began at `began` (monotonic seconds) got no reply."""
    task = asyncio.current_task()
    if task is None:
        return
    call = _calls.get(task)
    if call is None or call.request != (method, url) or began - call.ended_at > SAME_CALL_S:
        call = _calls[task] = _UnansweredCall(method, url)
    call.tries += 1
    call.ended_at = monotonic()
    path, server = route(urlsplit(url).path), current_gym_request()
    failure = GymFailure(
        server.boundary,
        kind_of_exception(error),
        stage_of(server.boundary, path),
        operation=f"{method} {path}",
        attempt_id=str(call.tries),
        reason=reason_of(error),
    )
    call.add(failure, error)
