"""The recorder's presence in a tracer provider."""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from failgraph.diagnostics import guard

# Loaded with the processor, so that the first `record` in a signal handler has nothing to import.
from failgraph.recording import api as api
from failgraph.recording.recorder import recorder


class FailureSpanProcessor(SpanProcessor):
    """Free what the recorder keeps of a trace, and finish deferred failures at flush and shutdown.

    It has no `on_start` and no state: until something fails, it costs one look at an empty index
    for each span. Add it before the exporter's processor, so that a flush includes what was
    deferred. One is enough; more do no harm. Failures are also recorded without it.
    """

    def on_end(self, span: ReadableSpan) -> None:
        """Forget the trace if `span` was its last one in this process."""
        if recorder().is_idle():
            return
        with guard("on_end"):
            is_local_root = span.parent is None or span.parent.is_remote
            recorder().span_ended(span.context, is_local_root=is_local_root)

    def shutdown(self) -> None:
        """Record what was deferred."""
        self.force_flush()

    def force_flush(self, timeout_millis: int = 30000) -> bool:  # noqa: ARG002 - the SDK's signature
        """Record what was deferred. Return True: there is nothing to wait for."""
        with guard("force_flush"):
            recorder().drain()
        return True


FailureSpanProcessor.__module__ = "failgraph"
