"""The recorder's presence in a provider."""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from failgraph.diagnostics import guard
from failgraph.recording.recorder import recorder


class FailureSpanProcessor(SpanProcessor):
    """Frees what the recorder keeps of a trace when its hops have ended; finishes deferred work at flush and shutdown.

    It has no `on_start` and no state of its own: until something fails it costs one look at an empty index a span. Add
    it to a provider before the exporter's processor, so that a flush finds what was deferred; one is enough, more do no
    harm. Failures are recorded without it too.
    """

    def on_end(self, span: ReadableSpan) -> None:
        """Free the entry of the trace where `span` was the last of its hops."""
        here = recorder()
        if here.idle():
            return
        with guard("on_end"):
            here.drain()
            context = span.context
            if context is not None and context.trace_id in here.index.traces:
                here.index.span_ended(
                    context, local_root=span.parent is None or span.parent.is_remote
                )

    def shutdown(self) -> None:
        """Record what was deferred."""
        self.force_flush()

    def force_flush(self, timeout_millis: int = 30000) -> bool:  # noqa: ARG002 - the SDK's signature
        """Record what was deferred; True. There is nothing to wait for."""
        with guard("force_flush"):
            recorder().drain()
        return True
