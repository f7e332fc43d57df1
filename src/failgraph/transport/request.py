"""A served request as a hop, reported when its reply starts.

Three sources, one recorder: what escapes the application, what it turns into a reply, and what was made in the request
and handled there. All of it happens beside the application: same exceptions, same messages, same order.
"""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import Span, SpanContext, SpanKind, TraceFlags

from failgraph.diagnostics import count, guard
from failgraph.exceptions.failure_exception import NgFailureEvent, remembered
from failgraph.recording.hop import Hop
from failgraph.recording.hops import adopt_span, close_hop, record_escape, report_hop
from failgraph.recording.recorder import recorder
from failgraph.settings import current
from failgraph.transport import gym_codec, headers
from failgraph.transport.headers import Place
from failgraph.transport.peers import is_told

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Fields = list[tuple[bytes, bytes]]

KEY: Final = "failgraph.request"
"""Where a request is in its scope: an application inside an application serves the same one."""
_MAX_BIRTHS: Final = 1024
_ROOM: Final = 728
"""Bytes of reply head beside ours that still fit a default proxy's buffer of 4,096, with what servers add."""


class Request(Hop):
    """The hop of one request. Its span is the SERVER span, as soon as somebody sees that."""

    def __init__(self, scope: Scope, inside: Hop | None) -> None:
        super().__init__(inside)
        self._scope = scope
        self._client = scope.get("client")
        self._task = _task()
        self._births: list[weakref.ref[BaseException]] = []
        self._error: BaseException | None = None
        self._relayed: set[str] = set()
        self._recovered: BaseException | None = None
        self._told: headers.Told | None = None
        self.replied = self.ended = False
        self.see(trace.get_current_span())

    def see(self, span: Span) -> None:
        """Take `span` for the request's, where it is a SERVER span and of no other request.

        Of nested ones the outermost is taken; of two that are traced side by side the inner one, where all else is.
        """
        if getattr(span, "kind", None) is not SpanKind.SERVER or span is self.span or self.reported:
            return
        if self.span is not None and getattr(span, "parent", None) != getattr(
            self.span, "parent", None
        ):
            return
        if all(hop.span is not span for hop in self.enclosing()):
            adopt_span(self, span)
            self.escape_span = span

    def is_before(self, scope: Scope) -> bool:
        """Whether its reply went out before a request on the same connection, of which that is the scope."""
        same = self._client is not None and scope.get("client") == self._client
        # A call within this process comes before the reply has ended, or in the same task.
        return self.ended and same and _task() is not self._task

    def saw(self, error: BaseException | None) -> None:
        """An exception passes on its way out, or is being answered; what comes of it shows when the reply starts."""
        if error is None or error is self.handled_around or error is self._recovered:
            return
        if self.reported:
            recorder().record_escaping(error, self, self.span)
        else:
            self._error = error

    def being_answered(self) -> BaseException | None:
        """The exception that a reply, which has not started, is about to be made of; None where none was seen."""
        return self._error

    def finish(self, error: BaseException | None) -> None:
        """Write the report: this is the last time that the span can be written on. A reply may still come, or not."""
        if self.reported or self.span is None or not self.span.is_recording():
            return
        failed = error is not None and record_escape(self, error)
        self._settle()
        self._error = None
        self._report(_UNKNOWN, failed=failed)

    def on_failure_created(self, error: BaseException) -> None:
        """Remember a failure that was made in this request, as long as somebody holds it."""
        if recorder().is_crowded:
            recorder().drain()
        if len(self._births) >= _MAX_BIRTHS:
            self._births = [birth for birth in self._births if birth() is not None][
                -_MAX_BIRTHS + 1 :
            ]
        self._births.append(weakref.ref(error))

    def on_failure_dropped(self, error: BaseException) -> None:
        """Record a failure that was handled, and that nobody holds any more; later, since this may be anywhere."""
        recorder().defer_dropped(error)

    def on_report_received(self, header_value: str) -> None:
        """Remember the report header of a peer."""
        if len(self._relayed) < _MAX_BIRTHS:
            self._relayed.add(header_value)

    def begins_anew(self, handled: BaseException | None = None) -> None:
        """The application is called, or answers: what was seen before, or is `handled` around it, is recovered."""
        self._recovered = handled
        if not self.reported:
            self._error = None

    def close(
        self, error: BaseException | None, *, failed: bool = False, unfinished: bool = False
    ) -> None:
        """Record what is left; without a reply, this is when the report is written."""
        with guard("request end"):
            self._settle()
        if error is not None and self.reported:
            with guard("recording what escapes after the reply"):
                recorder().record_escaping(error, self, self.span)
            error = None
        self._error = self._recovered = None
        self._scope, self._task = {}, None
        close_hop(self, error, failed=failed, unfinished=unfinished)

    def _settle(self) -> None:
        """Record the failures that were made here, still exist, and have not been recorded."""
        births, self._births = self._births, []
        for birth in births:
            error = birth()
            if not isinstance(error, NgFailureEvent):
                continue
            memory = remembered(error)
            if memory.birth is not None and not memory.written:
                recorder().record_escaping(error, self, self.span)
        recorder().drain()

    def replying(self, message: Message) -> Message:
        """The message that starts the reply, with the report in its headers for whoever gets it."""
        self.replied = True
        status, head = int(message["status"]), list(message.get("headers", ()))
        if not self.reported:
            self.saw(sys.exc_info()[1])
            error, self._error = self._error, None
            if error is not None:
                own = recorder().record_escaping(
                    error, self, self.span, allow_foreign=status >= 500
                )
                if status >= 400:
                    self.log.claim(own)
            self._settle()
            head = self._take_over(head)
            failed = status >= 500 and self.log.failure_id is not None
            self._report(head, failed=failed)
        told = self._told
        if told is None or self._left(head) < 0:
            return self._without_relayed(message)
        head += [(headers.REPORT.encode(), told.report_value.encode()), *_CARRIED]
        if told.spans_value is not None:
            head.append((headers.SPANS.encode(), told.spans_value.encode()))
        return {**message, "headers": head}

    def _is_told(self) -> bool:
        """Whether whoever sent the request gets its report; asked only where there is one."""
        client = self._scope.get("client")
        return is_told(self._scope.get("headers", ()), client[0] if client else None)

    def _without_relayed(self, message: Message) -> Message:
        """The message without a report that a relay copied from the reply of a peer, which we had asked for."""
        head = list(message.get("headers", ()))
        if not self._relayed or not any(
            value.decode("latin-1") in self._relayed for _, value in head
        ):
            return message
        return {
            **message,
            "headers": [(name, value) for name, value in head if name.lower() not in _OURS],
        }

    def _left(self, head: Fields) -> int:
        """Bytes of reply head that a report may take beside what the reply says itself; what is told already counts."""
        most = current().header_bytes
        used = sum(len(name) + len(value) + 4 for name, value in (*head, *_CARRIED))
        told = 0 if self._told is None else headers.size(self._told)
        return min(most, most + _ROOM - used) - told

    def _report(self, head: Fields, *, failed: bool) -> None:
        """Decide what the caller is told, beside the reply's own head, and write the report on the span as sent."""
        self.reported = True
        if not self.log:
            return
        if self._is_told():
            report = self.log.report()
            self._told = gym_codec.adopted(
                headers.encode(report, self._places(report.events), self._left(head))
            )
            if self._told is None:
                count("header_left_out")
        if self.span is not None and self.span.is_recording():
            report_hop(self, failed=failed, sent=None if self._told is None else self._told.report)

    def _take_over(self, head: Fields) -> Fields:
        """Take in a report that the reply carries already (Gym's own middleware, a relay), so that there is one."""
        values = {
            name.lower(): value.decode("latin-1") for name, value in head if name.lower() in _OURS
        }
        carried = values.get(headers.REPORT.encode())
        report = gym_codec.decode(carried) if carried is not None and self._is_told() else None
        if report is None:
            return head
        recorder().record_reply(
            report, contexts(headers.decode_spans(values.get(headers.SPANS.encode(), "")))
        )
        return [(name, value) for name, value in head if name.lower() not in _OURS]

    def _places(self, ids: Any) -> dict[str, Place]:
        trace_id = self.trace_id or 0
        found = {event_id: recorder().place_of(event_id, trace_id) for event_id in ids}
        return {
            key: Place(place.trace_id, place.span_id)
            for key, place in found.items()
            if place is not None
        }


_UNKNOWN: Final[Fields] = [(b"", bytes(_ROOM + 1024))]
"""Stands for the head of a reply that is not there yet: room is kept for a large one."""
_OURS: Final = frozenset({headers.REPORT.encode(), headers.SPANS.encode()})
_CARRIED: Final[Fields] = [(b"vary", headers.ACCEPT.encode()), (b"cache-control", b"private")]
"""So that no cache hands a report on to somebody who did not ask."""


def contexts(places: dict[str, Place]) -> dict[str, SpanContext]:
    """Spans of other processes as span contexts."""
    sampled = TraceFlags(TraceFlags.SAMPLED)
    return {
        key: SpanContext(place.trace_id, place.span_id, True, sampled)
        for key, place in places.items()
    }


def _task() -> object:
    """The task of asyncio that runs; None outside of it: other loops start no request in the context of another."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
