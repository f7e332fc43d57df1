"""Attempts at rollouts, as Gym's collector sees them: each is a hop with a span of its own.

The collector itself makes no span for a rollout. Under auto-instrumentation each try of its call
would be a trace by itself.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

from failgraph.context import current_hop
from failgraph.diagnostics import guard
from failgraph.failure.boundary import FailureBoundary
from failgraph.instrumentation.gym import quoted_failures
from failgraph.instrumentation.gym.observing import GymFailure, record_failure, record_raised
from failgraph.instrumentation.gym.result_rows import failure_in_result
from failgraph.instrumentation.gym.rollout_names import rollout_id_of
from failgraph.instrumentation.gym.vocabulary import kind_of_run
from failgraph.instrumentation.hook_target import Wrapped
from failgraph.recording import hops
from failgraph.recording.hop import Hop, running_hop
from failgraph.semconv import ROLLOUT_ID, ROLLOUT_SPAN
from failgraph.settings import current
from failgraph.text import safe_str
from failgraph.transport.request import Request


class _Surroundings(NamedTuple):
    """The context and the hop that were current before an attempt."""

    context: Context
    hop: Hop | None


class RolloutAttempt:
    """One attempt at a rollout, from the collector's call to its result or the end of its task.

    As a context manager it makes its span and hop current. That is only so while Gym works on it:
    a program that calls `/run` in a task of its own goes on outside of the rollout.

    Attributes:
        span: The span of the attempt.
        hop: The hop of the attempt.
        status: HTTP status of the reply, or None if there was none.
        failed: True if it ended without a result; a result may say that the rollout failed.
    """

    def __init__(self, rollout_id: str | None) -> None:
        attributes = {} if rollout_id is None else {ROLLOUT_ID: rollout_id}
        tracer = trace.get_tracer("failgraph")
        self.span: Span = tracer.start_span(ROLLOUT_SPAN, attributes=attributes)
        self.hop = hops.open_hop(self.span, running_hop())
        self.status: int | None = None
        self.failed = False
        self._before: _Surroundings | None = None

    def __enter__(self) -> None:
        with guard("tracing a rollout"):
            self._before = _Surroundings(context.get_current(), running_hop())
            context.attach(trace.set_span_in_context(self.span))
            current_hop.set(self.hop)

    def __exit__(self, *_: object) -> None:
        with guard("tracing a rollout"):
            # Without tokens: an abandoned coroutine may be closed in another context.
            if self._before is not None and trace.get_current_span() is self.span:
                context.attach(self._before.context)
                current_hop.set(self._before.hop)

    def end(self, error: BaseException | None, *, unfinished: bool = False) -> None:
        """Record its failure if none is known, write the hop's report and end the span.

        Args:
            error: What the task of the attempt ended with, or None.
            unfinished: True if that task was cancelled.
        """
        try:
            if self.hop.log.failure_id is None:
                self._record_own_failure(error)
            hops.close_hop(self.hop, None, failed=self.failed, unfinished=unfinished)
        finally:
            self.span.end()

    def _record_own_failure(self, error: BaseException | None) -> None:
        failure = _run_failure(kind_of_run(getattr(error, "status", None) or self.status))
        if isinstance(error, Exception):
            self.failed = record_raised(failure, error) is not None
        elif self.status is not None and self.status >= 400:
            reason = "the reply is not a result"
            record_failure(failure._replace(http_status=self.status, reason=reason), own=True)
            self.failed = True


# By the task that makes the attempt: collection has one task for each row. The value is None once
# the last attempt of the task has ended.
_attempts: weakref.WeakKeyDictionary[asyncio.Task[Any], RolloutAttempt | None] = (
    weakref.WeakKeyDictionary()
)


def _current_attempt() -> RolloutAttempt | None:
    """Return the attempt that the current task makes, or None."""
    task = asyncio.current_task() if _attempts else None
    return _attempts.get(task) if task is not None else None


async def request(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `ServerClient.request(server_name, url_path, method, **kwargs)`.

    The collector's call of `/run` begins an attempt; a server's call of it does not.
    """
    attempt: RolloutAttempt | None = None
    with guard("tracing a rollout"):
        if _url_path(*args, **kwargs) == "/run" and not isinstance(running_hop(), Request):
            attempt = _begin(kwargs.get("json"))
        quoted_failures.set_configuration(getattr(instance, "global_config_dict", {}))
    if attempt is None:
        return await wrapped(*args, **kwargs)
    with attempt:
        response = await wrapped(*args, **kwargs)
    attempt.status = getattr(response, "status", None)
    return response


def _url_path(server_name: Any = None, url_path: Any = None, *_: Any, **__: Any) -> Any:
    return url_path


def _begin(row: Any) -> RolloutAttempt | None:
    """Begin an attempt of the current task, and end the one before. Return None without a task."""
    task = asyncio.current_task()
    if task is None or current().enabled is False:
        return None
    if task in _attempts:
        _end(task, None)
    else:
        task.add_done_callback(_on_task_done)
    attempt = _attempts[task] = RolloutAttempt(rollout_id_of(row))
    return attempt


def _end(task: asyncio.Task[Any], error: BaseException | None, *, unfinished: bool = False) -> None:
    attempt = _attempts.get(task)
    if attempt is not None:
        _attempts[task] = None
        with attempt:
            attempt.end(error, unfinished=unfinished)


def _on_task_done(task: asyncio.Task[Any]) -> None:
    with guard("ending a rollout"):
        # `task.exception()` would silence asyncio's warning that nobody retrieved the exception.
        error = None if task.cancelled() else getattr(task, "_exception", None)
        _end(task, error, unfinished=task.cancelled())


def _run_failure(kind: str) -> GymFailure:
    return GymFailure(FailureBoundary.COLLECTION, kind, operation="POST /run")


def agent_request_failure_row(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `_agent_request_failure_row(exc, status)`: record why an attempt has no result.

    The kind is the label that Gym gives the row.
    """
    row = wrapped(*args, **kwargs)
    with guard("recording a failed rollout"):
        error = args[0] if args else kwargs.get("exc")
        if isinstance(error, Exception):
            failure = _run_failure(safe_str(row["_ng_failure_class"]))
            failure = failure._replace(http_status=row.get("_ng_failure_http_status"))
            attempt = _current_attempt()
            with attempt or nullcontext():
                record_raised(failure, error)
            if attempt is not None:
                attempt.failed = True
    return row


async def get_response_json(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Wrap `get_response_json(response)`: end the attempt, record a failure that its result names.

    The failure is known already if the server sent a report.
    """
    result = await wrapped(*args, **kwargs)
    with guard("reading a rollout's result"):
        attempt, task = _current_attempt(), asyncio.current_task()
        if attempt is not None and task is not None and isinstance(result, Mapping):
            with attempt:
                failure = failure_in_result(result) if attempt.hop.log.failure_id is None else None
                if failure is not None:
                    record_failure(failure, own=True)
            _end(task, None)
    return result
