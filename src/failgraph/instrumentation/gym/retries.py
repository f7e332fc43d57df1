"""Tries that get no reply: the first of a call is told at once, since Gym goes on for ever; later ones are counted.

They are told on failure spans, which end at once and so are exported while the call, and the rollout, still hangs.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from typing import Any, Final
from urllib.parse import urlsplit

from failgraph.instrumentation.gym.observing import Observed, here, mark, reason_of, tell
from failgraph.instrumentation.gym.table import kind_of_exception, route, stage_of

FIRST_PAUSE_S: Final = 5.0
"""Between the first failing try and the next that is told; doubled each time."""
LONGEST_PAUSE_S: Final = 600.0
SAME_CALL_S: Final = 2.0
"""A try of the same request in the same task, so soon after a failing one, is of the same call: Gym pauses 0.5 s."""


class _Call:
    """A call that gets no reply, and of one kind of failure the tries that were not told yet."""

    def __init__(self, method: str, url: str) -> None:
        self.request = (method, url)
        self.tries = 0
        self.untold = 0
        self.what: Observed | None = None
        self.failure_id = ""
        self.told_at = self.last_at = time.monotonic()
        self.pause = FIRST_PAUSE_S


_calls: weakref.WeakKeyDictionary[asyncio.Task[Any], _Call] = weakref.WeakKeyDictionary()
"""What each task is calling without an answer; empty while all goes well."""


def went_through() -> None:
    """A try got its reply: what was not told of the ones before it is told now."""
    task = asyncio.current_task() if _calls else None
    call = _calls.pop(task, None) if task is not None else None
    if call is not None and call.untold:
        _tell_more(call, "then a reply came")


def failed(method: str, url: str, error: Exception) -> None:
    """A try got no reply."""
    task = asyncio.current_task()
    if task is None:
        return
    call, now = _calls.get(task), time.monotonic()
    if call is None or call.request != (method, url) or now - call.last_at > SAME_CALL_S:
        call = _calls[task] = _Call(method, url)
    call.tries += 1
    call.last_at = now
    path, server = route(urlsplit(url).path), here()
    what = Observed(
        server.boundary,
        kind_of_exception(error),
        stage_of(server.boundary, path),
        operation=f"{method} {path}",
        attempt_id=str(call.tries),
        reason=reason_of(error),
    )
    if call.what is None or call.what.kind != what.kind:
        if call.untold:
            _tell_more(call, "then it failed in another way")
        call.what, call.told_at, call.pause = what, now, FIRST_PAUSE_S
        call.failure_id = tell(what, error, at_once=True) or ""
        return
    call.untold += 1
    call.what = what
    if now - call.told_at >= call.pause:
        call.told_at, call.pause = now, min(2 * call.pause, LONGEST_PAUSE_S)
        _tell_more(call, "no reply yet", error)
    elif call.failure_id:
        mark(error, call.failure_id)


def _tell_more(call: _Call, so_far: str, error: Exception | None = None) -> None:
    what, untold = call.what, call.untold
    call.untold = 0
    if what is not None:
        reason = f"{untold} more tries failed, {call.tries} in all; {so_far}: {what.reason}"
        call.failure_id = tell(what._replace(reason=reason), error, at_once=True) or ""
