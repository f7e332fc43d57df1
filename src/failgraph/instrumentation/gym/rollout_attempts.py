"""Rollouts: the collector's attempts, each a hop with a span of its own; and hops inside Gym's own spans of rollouts.

Gym's collector has no span for a rollout: under auto-instrumentation each try of its call would be a trace by itself.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

from failgraph.context import current_hop
from failgraph.diagnostics import guard
from failgraph.failure.boundary import FailureBoundary
from failgraph.instrumentation.gym import quoted_failures
from failgraph.instrumentation.gym.observing import GymFailure, record_failure, record_raised
from failgraph.instrumentation.gym.rollout_names import rollout_id_of
from failgraph.instrumentation.gym.vocabulary import kind_of_run, meaning_of_class
from failgraph.recording import hops
from failgraph.recording.hop import Hop, running_hop
from failgraph.semconv import ROLLOUT_ID, ROLLOUT_SPAN
from failgraph.settings import current
from failgraph.text import safe_str
from failgraph.transport.request import Request

_RUN = "POST /run"

Wrapped = Callable[..., Any]


class RolloutAttempt:
    """One attempt at a rollout, as the collector sees it: from its call until its result, or until its task is done.

    Current only while Gym works on it: a program that calls `/run` in a task of its own goes on outside.
    """

    def __init__(self, rollout_id: str | None) -> None:
        attributes = {} if rollout_id is None else {ROLLOUT_ID: rollout_id}
        self.span: Span = trace.get_tracer("failgraph").start_span(
            ROLLOUT_SPAN, attributes=attributes
        )
        self.hop = hops.open_hop(self.span, running_hop())
        self.status: int | None = None
        """Of the reply; None where there was none."""
        self.failed = False
        """Whether it ended without a result, rather than with one that says it failed."""
        self._before: tuple[Context, Hop | None] | None = None

    def __enter__(self) -> None:
        with guard("a rollout"):
            self._before = context.get_current(), running_hop()
            context.attach(trace.set_span_in_context(self.span))
            current_hop.set(self.hop)

    def __exit__(self, *_: object) -> None:
        with guard("a rollout"):
            # No tokens: what nobody waits for any more may be closed in another context.
            if self._before is not None and trace.get_current_span() is self.span:
                context.attach(self._before[0])
                current_hop.set(self._before[1])

    def end(self, error: BaseException | None, *, unfinished: bool = False) -> None:
        """Write what is left to write, and end the span."""
        try:
            if self.hop.log.failure_id is None:
                what = _of_run(kind_of_run(getattr(error, "status", None) or self.status))
                if isinstance(error, Exception):
                    self.failed = record_raised(what, error) is not None
                elif self.status is not None and self.status >= 400:
                    record_failure(
                        what._replace(http_status=self.status, reason="the reply is no result"),
                        own=True,
                    )
                    self.failed = True
            hops.close_hop(self.hop, None, failed=self.failed, unfinished=unfinished)
        finally:
            self.span.end()


_attempts: weakref.WeakKeyDictionary[asyncio.Task[Any], RolloutAttempt | None] = (
    weakref.WeakKeyDictionary()
)
"""By the task that makes it: collection has one a row. None: the task's last one is over."""


def _of_task() -> RolloutAttempt | None:
    """The attempt that the current task makes."""
    task = asyncio.current_task() if _attempts else None
    return _attempts.get(task) if task is not None else None


async def request(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`ServerClient.request(server_name, url_path, method, **kwargs)`: the collector's `/run` begins an attempt."""
    attempt: RolloutAttempt | None = None
    with guard("a rollout"):
        if _path_of(*args, **kwargs) == "/run" and not isinstance(running_hop(), Request):
            attempt = _begin(kwargs.get("json"))
        quoted_failures.set_configuration(getattr(instance, "global_config_dict", {}))
    if attempt is None:
        return await wrapped(*args, **kwargs)
    with attempt:
        response = await wrapped(*args, **kwargs)
    attempt.status = getattr(response, "status", None)
    return response


def _path_of(server_name: Any = None, url_path: Any = None, *_: Any, **__: Any) -> Any:
    return url_path


def _begin(row: Any) -> RolloutAttempt | None:
    task = asyncio.current_task()
    if task is None or current().enabled is False:
        return None
    if task in _attempts:
        _end(task, None)
    else:
        task.add_done_callback(_done)
    attempt = _attempts[task] = RolloutAttempt(rollout_id_of(row))
    return attempt


def _end(task: asyncio.Task[Any], error: BaseException | None, *, unfinished: bool = False) -> None:
    attempt = _attempts.get(task)
    if attempt is not None:
        _attempts[task] = None
        with attempt:
            attempt.end(error, unfinished=unfinished)


def _done(task: asyncio.Task[Any]) -> None:
    with guard("the end of a rollout"):
        # Asking for the exception would count as having looked at it, which its owner is to do.
        error = None if task.cancelled() else getattr(task, "_exception", None)
        _end(task, error, unfinished=task.cancelled())


def _of_run(kind: str) -> GymFailure:
    return GymFailure(FailureBoundary.COLLECTION, kind, operation=_RUN)


def agent_request_failure_row(
    wrapped: Wrapped,
    instance: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """`_agent_request_failure_row(exc, status)`: the row of an attempt without a result, and Gym's label of it."""
    row = wrapped(*args, **kwargs)
    with guard("a failed rollout"):
        error = args[0] if args else kwargs.get("exc")
        if isinstance(error, Exception):
            what = _of_run(safe_str(row["_ng_failure_class"]))
            attempt = _of_task()
            with attempt or nullcontext():
                record_raised(what._replace(http_status=row.get("_ng_failure_http_status")), error)
            if attempt is not None:
                attempt.failed = True
    return row


async def get_response_json(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`get_response_json(response)`: a result that says it is none, of a server that sends no reports."""
    found = await wrapped(*args, **kwargs)
    with guard("a rollout's result"):
        attempt, task = _of_task(), asyncio.current_task()
        if attempt is not None and task is not None and isinstance(found, Mapping):
            with attempt:
                if attempt.hop.log.failure_id is None:
                    _told_by_row(found)
            _end(task, None)
    return found


def _told_by_row(row: Mapping[str, Any]) -> None:
    label, failure = row.get("_ng_failure_class"), row.get("failure")
    if isinstance(label, str) and label:
        meaning = meaning_of_class(label)
        kind = row.get("failure_kind")
        reason = (
            row.get("_ng_failure_judge_error")
            or row.get("failure_reason")
            or row.get("_ng_failure_message")
            or ""
        )
        named = kind if isinstance(kind, str) and kind else meaning.kind
        told = GymFailure(
            meaning.boundary,
            named,
            meaning.stage,
            operation=f"{_RUN} ({label})",
            reason=safe_str(reason),
        )
        record_failure(told, own=True)
    elif isinstance(failure, Mapping) and "episode_id" in row:
        named = failure.get("failure_kind") or "environment_server_failed"
        reason = safe_str(failure.get("failure_reason") or "")
        record_failure(
            GymFailure(
                FailureBoundary.ENVIRONMENT, named, failure.get("stage"), _RUN, reason=reason
            ),
            own=True,
        )
