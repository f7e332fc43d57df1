"""Calls that fail again and again: the first failures are recorded, later ones are counted.

Gym repeats a request without a reply every half second, for ever. The first failure of a call is
recorded at once, on a failure span: that is exported while the call, and the rollout, still hangs.
Later ones are counted, and the count is recorded in the same way at growing intervals. A model API
that answers with errors for ever is treated likewise, after some attempts.
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

FIRST_PAUSE_S: Final = 5.0  # from the first record to the next one; doubled each time
LONGEST_PAUSE_S: Final = 600.0

# An attempt that begins so soon after a failing one of the same task and request is of one call.
SAME_CALL_S: Final = 2.0


class RepeatedFailure:
    """The same failure again and again.

    Attributes:
        attempts: How many attempts there were.
        failure_id: The failure that was recorded last; those that are only counted stand for it.
    """

    def __init__(self) -> None:
        self.attempts = 0
        self.failure_id: str | None = None
        self._last: GymFailure | None = None
        self._unrecorded = 0
        self._recorded_at = 0.0
        self._pause = FIRST_PAUSE_S

    def add_recorded(self, failure: GymFailure, failure_id: str | None) -> str | None:
        """Note a failure that was recorded by itself. Return its id."""
        self._last = failure
        self.failure_id = failure_id
        self._recorded_at = monotonic()
        return failure_id

    def add(self, failure: GymFailure, error: Exception | None = None) -> str | None:
        """Record a failure if it differs from the last one or the pause is over, else count it.

        Args:
            failure: What is known of it.
            error: Its exception, which then carries the id.

        Returns:
            The id of the failure that it stands for, or None if nothing was recorded.
        """
        if self._last is None or self._last.kind != failure.kind:
            self.record_pending("then another failure followed")
            self._pause = FIRST_PAUSE_S
            return self.add_recorded(failure, record_failure(failure, error, at_once=True))
        self._last = failure
        self._unrecorded += 1
        if monotonic() - self._recorded_at >= self._pause:
            self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
            self.record_pending("retrying continues")
        if error is not None and self.failure_id is not None:
            set_failure_id(error, self.failure_id)
        return self.failure_id

    def record_pending(self, state: str) -> None:
        """Record how many failures were only counted, and the `state` of the call after them."""
        if self._last is None or not self._unrecorded:
            return
        reason = f"{self._unrecorded} more tries failed, {state}: {self._last.reason}"
        self._unrecorded = 0
        failure = self._last._replace(reason=reason)
        self.add_recorded(self._last, record_failure(failure, at_once=True))


class _UnansweredCall(RepeatedFailure):
    """A call that has got no reply so far.

    Attributes:
        request: Method and URL.
        ended_at: When the last attempt ended, in monotonic seconds.
    """

    def __init__(self, method: str, url: str) -> None:
        super().__init__()
        self.request = (method, url)
        self.ended_at = monotonic()


# The call that each task repeats; empty while all goes well.
_calls: weakref.WeakKeyDictionary[asyncio.Task[Any], _UnansweredCall] = weakref.WeakKeyDictionary()


def reply_received() -> None:
    """End the call of the current task: record what was only counted of it."""
    task = asyncio.current_task() if _calls else None
    call = _calls.pop(task, None) if task is not None else None
    if call is not None:
        call.record_pending("then a reply came")


def no_reply(method: str, url: str, began: float, error: Exception) -> None:
    """Record or count an attempt that got no reply.

    Args:
        method: The HTTP method, in upper case.
        url: Where the request went.
        began: When the attempt began, in monotonic seconds.
        error: What it ended with.
    """
    task = asyncio.current_task()
    if task is None:
        return
    call = _calls.get(task)
    if call is None or call.request != (method, url) or began - call.ended_at > SAME_CALL_S:
        call = _calls[task] = _UnansweredCall(method, url)
    call.attempts += 1
    call.ended_at = monotonic()
    path, boundary = route(urlsplit(url).path), current_gym_request().boundary
    failure = GymFailure(
        boundary,
        kind_of_exception(error),
        stage_of(boundary, path),
        operation=f"{method} {path}",
        attempt_id=str(call.attempts),
        reason=reason_of(error),
    )
    call.add(failure, error)
