"""A served request as a hop. Its report is written when its reply starts.

Failures come from three sources: what escapes the application, what it turns into a reply, and what
was created in the request and handled there. The application does not notice: exceptions, messages
and their order stay the same.
"""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import Span, SpanContext, SpanKind

from failgraph.diagnostics import count, guard
from failgraph.exceptions.failure_exception import NgFailureEvent, remembered
from failgraph.recording.hop import Hop
from failgraph.recording.hops import adopt_span, close_hop, record_escape, report_hop
from failgraph.recording.recorder import recorder
from failgraph.transport import gym_codec, headers, reply_head
from failgraph.transport.header_decoder import decode_spans
from failgraph.transport.header_encoder import encode_headers
from failgraph.transport.headers import ReplyHeaders
from failgraph.transport.peers import may_receive_report
from failgraph.transport.reply_head import Fields

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# Key of the request in its ASGI scope: an application inside an application serves the same one.
SCOPE_KEY: Final = "failgraph.request"

_MAX_REMEMBERED: Final = 1024  # created failures, and received report headers, of one request


class Request(Hop):
    """The hop of one request. Its span is the SERVER span, as soon as that has been seen.

    Attributes:
        replied: True once its reply has started.
        ended: True once the last part of its reply is about to be sent.
    """

    def __init__(self, scope: Scope, outer: Hop | None) -> None:
        super().__init__(outer)
        self._scope = scope
        self._client = scope.get("client")
        self._task = _running_task()
        self._created: list[weakref.ref[BaseException]] = []
        self._pending: BaseException | None = None
        self._recovered: BaseException | None = None
        self._received_values: set[str] = set()
        self._reply: ReplyHeaders | None = None
        self.replied = self.ended = False
        self.use_span(trace.get_current_span())

    @property
    def pending_exception(self) -> BaseException | None:
        """The exception that the coming reply is about to be made of, or None if none was seen."""
        return self._pending

    def use_span(self, span: Span) -> None:
        """Make `span` the span of this request, if it is a SERVER span of no other request.

        Of nested SERVER spans the outermost is used; of two beside each other the inner one, which
        everything else is below.
        """
        if getattr(span, "kind", None) is not SpanKind.SERVER or span is self.span or self.reported:
            return
        is_sibling = getattr(span, "parent", None) == getattr(self.span, "parent", None)
        if self.span is not None and not is_sibling:
            return
        if all(hop.span is not span for hop in self.enclosing()):
            adopt_span(self, span)
            self.escape_span = span

    def precedes(self, scope: Scope) -> bool:
        """Return True if it has ended, and the request of `scope` follows on its connection."""
        same_client = self._client is not None and scope.get("client") == self._client
        # A call within this process is made before the reply has ended, or in the same task.
        return self.ended and same_client and _running_task() is not self._task

    def note_exception(self, error: BaseException | None) -> None:
        """Note an exception on its way out, or one that is being answered.

        What it means shows when the reply starts. After that, it is recorded at once.
        """
        if error is None or error is self.handled_around or error is self._recovered:
            return
        if self.reported:
            recorder().record_escaping(error, self, self.span)
        else:
            self._pending = error

    def forget_exceptions(self, handled: BaseException | None = None) -> None:
        """Treat the exceptions seen so far, and one that is `handled` around, as recovered from."""
        self._recovered = handled
        if not self.reported:
            self._pending = None

    def on_failure_created(self, error: BaseException) -> None:
        """Remember a failure that was created in this request, as long as anything holds it."""
        if recorder().is_crowded:
            recorder().drain()
        if len(self._created) >= _MAX_REMEMBERED:
            alive = [created for created in self._created if created() is not None]
            self._created = alive[-_MAX_REMEMBERED + 1 :]
        self._created.append(weakref.ref(error))

    def on_failure_dropped(self, error: BaseException) -> None:
        """Record a handled failure that is about to be freed; later, as this may run anywhere."""
        recorder().defer_dropped(error)

    def on_report_received(self, header_value: str) -> None:
        """Remember the report header of a peer."""
        if len(self._received_values) < _MAX_REMEMBERED:
            self._received_values.add(header_value)

    def start_reply(self, message: Message) -> Message:
        """Return the message that starts the reply, with the report if the client may have it."""
        self.replied = True
        status, head = int(message["status"]), list(message.get("headers", ()))
        if not self.reported:
            self.note_exception(sys.exc_info()[1])
            self._record_pending(status)
            self._record_created()
            head = self._absorb_carried_report(head)
            self._write_report(head, is_error=status >= 500)
        if self._reply is None or reply_head.free_bytes(head) < self._reply.size():
            return self._without_received_reports(message)
        return {**message, "headers": reply_head.with_report(head, self._reply)}

    def report_early(self, error: BaseException | None) -> None:
        """Write the report now, because the span ends here. A reply may follow or not."""
        if self.reported or self.span is None or not self.span.is_recording():
            return
        if error is not None:
            record_escape(self, error)
        self._record_created()
        self._pending = None
        self._write_report(reply_head.UNKNOWN_HEAD, is_error=error is not None)

    def close(
        self, error: BaseException | None, *, failed: bool = False, unfinished: bool = False
    ) -> None:
        """Record what is left. Without a reply, this writes the report; see `close_hop`."""
        with guard("request end"):
            self._record_created()
        if error is not None and self.reported:
            with guard("recording what escapes after the reply"):
                recorder().record_escaping(error, self, self.span)
            error = None
        self._pending = self._recovered = None
        self._scope, self._task = {}, None
        close_hop(self, error, failed=failed, unfinished=unfinished)

    def _record_pending(self, status: int) -> None:
        """Record the exception that the reply is made of: the own failure, if the reply fails."""
        error, self._pending = self._pending, None
        if error is None:
            return
        own_id = recorder().record_escaping(error, self, self.span, allow_foreign=status >= 500)
        if status >= 400:
            self.log.claim(own_id)

    def _record_created(self) -> None:
        """Record the failures that were created here, still exist, and were not recorded yet."""
        created, self._created = self._created, []
        for reference in created:
            error = reference()
            if not isinstance(error, NgFailureEvent):
                continue
            memory = remembered(error)
            if memory.birth is not None and not memory.written:
                recorder().record_escaping(error, self, self.span)
        recorder().drain()

    def _write_report(self, head: Fields, *, is_error: bool) -> None:
        """Decide what the client is sent beside `head`, and write that report on the span.

        Without an own failure, a request that ends with an error comes to no result: one of
        the reported failures may be the reason.
        """
        self.reported = True
        if not self.log:
            return
        if self._may_send_report():
            report = self.log.report()
            spans = self._spans_of(report.events)
            encoded = encode_headers(report, spans, reply_head.free_bytes(head))
            self._reply = gym_codec.in_loaded_encoding(encoded)
            if self._reply is None:
                count("header_left_out")
        if self.span is not None and self.span.is_recording():
            report_hop(
                self,
                failed=is_error and self.log.failure_id is not None,
                unfinished=is_error,
                sent=None if self._reply is None else self._reply.report,
            )

    def _may_send_report(self) -> bool:
        client = self._scope.get("client")
        return may_receive_report(self._scope.get("headers", ()), client[0] if client else None)

    def _absorb_carried_report(self, head: Fields) -> Fields:
        """Take in a report that the reply carries already, so that the client gets one with both.

        Gym's own middleware and relays send such replies.

        Returns:
            The fields without that report, or all of them if it is left alone.
        """
        values = reply_head.report_values(head)
        value = values.get(headers.REPORT)
        if value is None or not self._may_send_report():
            return head
        report = gym_codec.decode_report(value)
        if report is None:
            return head
        recorder().record_reply(report, decode_spans(values.get(headers.SPANS, "")))
        return reply_head.without_report(head)

    def _without_received_reports(self, message: Message) -> Message:
        """Return the message without a report that a relay copied from the reply of a peer.

        failgraph asked that peer for it; the client did not.
        """
        head = list(message.get("headers", ()))
        if not any(value.decode("latin-1") in self._received_values for _, value in head):
            return message
        return {**message, "headers": reply_head.without_report(head)}

    def _spans_of(self, event_ids: Iterable[str]) -> dict[str, SpanContext]:
        """Return the span that each failure was recorded on, as far as it is known."""
        trace_id = self.trace_id or 0
        spans = {event_id: recorder().place_of(event_id, trace_id) for event_id in event_ids}
        return {event_id: span for event_id, span in spans.items() if span is not None}


def _running_task() -> object:
    """Return the running task of asyncio, or None outside of it.

    Servers on other event loops start no request in the context of another.
    """
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
