"""Rollouts: the collector's attempts, each a hop with a span of its own; and hops inside Gym's own spans of rollouts.

Gym's collector has no span for a rollout: under auto-instrumentation each try of its call would be a trace by itself.
"""

from __future__ import annotations

import asyncio
import functools
import weakref
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from types import TracebackType
from typing import Any

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

from failgraph.context import current_hop
from failgraph.diagnostics import guard
from failgraph.failure.boundary import FailureBoundary
from failgraph.instrumentation.gym import error_bodies
from failgraph.instrumentation.gym.observing import Observed, fails, serving, tell
from failgraph.instrumentation.gym.rollout_names import by_run, rollout_id_of
from failgraph.instrumentation.gym.serving import leaves
from failgraph.instrumentation.gym.vocabulary import kind_of_run, meaning_of_class
from failgraph.recording import hops
from failgraph.semconv import ROLLOUT_ID, ROLLOUT_SPAN
from failgraph.settings import current
from failgraph.text import safe_str
from failgraph.transport.request import Request

_RUN = "POST /run"

Wrapped = Callable[..., Any]


class Attempt:
    """One attempt at a rollout, as the collector sees it: from its call until its result, or until its task is done.

    Current only while Gym works on it: a program that calls `/run` in a task of its own goes on outside.
    """

    def __init__(self, rollout_id: str | None) -> None:
        attributes = {} if rollout_id is None else {ROLLOUT_ID: rollout_id}
        self.span: Span = trace.get_tracer("failgraph").start_span(
            ROLLOUT_SPAN, attributes=attributes
        )
        self.hop = hops.Hop(self.span, current_hop.get())
        self.status: int | None = None
        """Of the reply; None where there was none."""
        self.failed = False
        """Whether it ended without a result, rather than with one that says it failed."""
        self._before: tuple[Context, hops.Hop | None] | None = None

    def __enter__(self) -> None:
        with guard("a rollout"):
            self._before = context.get_current(), current_hop.get()
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
                    self.failed = fails(what, error) is not None
                elif self.status is not None and self.status >= 400:
                    tell(
                        what._replace(http_status=self.status, reason="the reply is no result"),
                        own=True,
                    )
                    self.failed = True
            self.hop.close(None, failed=self.failed, unfinished=unfinished)
        finally:
            self.span.end()


_attempts: weakref.WeakKeyDictionary[asyncio.Task[Any], Attempt | None] = (
    weakref.WeakKeyDictionary()
)
"""By the task that makes it: collection has one a row. None: the task's last one is over."""


def _of_task() -> Attempt | None:
    """The attempt that the current task makes."""
    task = asyncio.current_task() if _attempts else None
    return _attempts.get(task) if task is not None else None


async def request(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`ServerClient.request(server_name, url_path, method, **kwargs)`: the collector's `/run` begins an attempt."""
    attempt: Attempt | None = None
    with guard("a rollout"):
        if _path_of(*args, **kwargs) == "/run" and not isinstance(current_hop.get(), Request):
            attempt = _begin(kwargs.get("json"))
        error_bodies.configured(getattr(instance, "global_config_dict", {}))
    if attempt is None:
        return await wrapped(*args, **kwargs)
    with attempt:
        response = await wrapped(*args, **kwargs)
    attempt.status = getattr(response, "status", None)
    return response


def _path_of(server_name: Any = None, url_path: Any = None, *_: Any, **__: Any) -> Any:
    return url_path


def _begin(row: Any) -> Attempt | None:
    task = asyncio.current_task()
    if task is None or current().enabled is False:
        return None
    if task in _attempts:
        _end(task, None)
    else:
        task.add_done_callback(_done)
    attempt = _attempts[task] = Attempt(rollout_id_of(row))
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


def _of_run(kind: str) -> Observed:
    return Observed(FailureBoundary.COLLECTION, kind, operation=_RUN)


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
                fails(what._replace(http_status=row.get("_ng_failure_http_status")), error)
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
        told = Observed(
            meaning.boundary,
            named,
            meaning.stage,
            operation=f"{_RUN} ({label})",
            reason=safe_str(reason),
        )
        tell(told, own=True)
    elif isinstance(failure, Mapping) and "episode_id" in row:
        named = failure.get("failure_kind") or "environment_server_failed"
        reason = safe_str(failure.get("failure_reason") or "")
        tell(
            Observed(FailureBoundary.ENVIRONMENT, named, failure.get("stage"), _RUN, reason=reason),
            own=True,
        )


async def run_from_config(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`RolloutCollectionHelper._run_from_config(config)`, inside `gym.job` where that is traced: a hop."""
    if not trace.get_current_span().get_span_context().is_valid:
        return await wrapped(*args, **kwargs)
    with hops.hop():
        return await wrapped(*args, **kwargs)


def traced_rollout_endpoint(
    wrapped: Wrapped, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`traced_rollout_endpoint(handler, …)`: an agent's `/run`; what runs inside `gym.rollout`, if traced, is a hop."""
    if not args or not callable(args[0]):
        return wrapped(*args, **kwargs)
    handler = args[0]

    @functools.wraps(handler)
    async def inside(*args: Any, **kwargs: Any) -> Any:
        with guard("naming a rollout"):
            by_run((*args, *kwargs.values()))
        with _Rollout():
            return await handler(*args, **kwargs)

    return wrapped(inside, *args[1:], **kwargs)


class _Rollout:
    """The time inside `gym.rollout`; an exception passes through it untouched."""

    def __init__(self) -> None:
        self._hop: hops.hop | None = None
        self._around: hops.Hop | None = None

    def __enter__(self) -> None:
        with guard("a rollout"):
            self._around, span = current_hop.get(), trace.get_current_span()
            if self._around is not None and span.is_recording() and span is not self._around.span:
                self._hop = hops.hop()
                self._hop.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._hop is None:
            return
        inner, server = current_hop.get(), serving.get()
        with guard("a rollout"):
            if server is not None and isinstance(error, Exception):
                leaves(server, "POST", "/run", error)
        self._hop.__exit__(kind, error, at)
        if self._around is not None and inner is not None:
            self._around.log.claim(
                inner.log.failure_id
            )  # what the rollout comes to, the request does
