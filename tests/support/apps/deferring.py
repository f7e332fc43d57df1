"""A program that only defers a failure, in the way that is named in argv, and ends.

Its provider has no processor of failgraph. What it exports at exit is printed.
"""

import os
import signal
import sys
import threading

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import failgraph
from builders import event
from failgraph import semconv


class Printing(SpanExporter):
    def export(self, spans):
        found = [each.attributes[semconv.ID] for span in spans for each in span.events]
        if found:
            print("exported:", *found, flush=True)
        return SpanExportResult.SUCCESS


PROVIDER = TracerProvider()
PROVIDER.add_span_processor(BatchSpanProcessor(Printing()))
SPAN = PROVIDER.get_tracer("deferring").start_span("work")


def returns(*_):
    recorded = failgraph.record(event("deferred"), span=SPAN, deferred=True)
    assert recorded.placement == "deferred"


def handler():
    signal.signal(signal.SIGUSR1, returns)
    signal.raise_signal(signal.SIGUSR1)


def finalizer():
    class Freed:
        def __del__(self):
            returns()

    Freed()


def forked():
    """The child ends without a failure; that of the parent is not its own."""
    returns()
    if os.fork() == 0:
        sys.exit(0)
    os.wait()


def no_thread():
    """End as under Python 3.12.0 and 3.12.1."""
    returns()
    start = threading.Thread.start

    def refuse(self):
        if self.name == "failgraph-flush":
            raise RuntimeError("can't create new thread at interpreter shutdown")
        start(self)

    threading.Thread.start = refuse


globals()[sys.argv[1]]()
SPAN.end()  # without a processor of ours it does not record what waits
