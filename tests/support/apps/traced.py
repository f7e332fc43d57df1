"""A program that does the steps named in argv, in order: make a provider, attach failgraph, fail.

Prints the modules of failgraph that are loaded, how often its processor is on the provider, and its
counters, as one JSON object.
"""

import json
import multiprocessing
import os
import sys
import warnings

warnings.simplefilter("ignore", DeprecationWarning)
SECRET = "sk-" + "4f9aB27cQ1xZ8mLk" * 2


def exporting(**options):
    """Return a provider as the author of a program would make it."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(**options)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def own():
    from opentelemetry import trace

    trace.set_tracer_provider(exporting())


def own_by_name():
    from opentelemetry.trace import set_tracer_provider

    set_tracer_provider(exporting())


def own_subclass():
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    class Late(TracerProvider):
        def __init__(self):
            super().__init__()
            self.added = []

        def add_span_processor(self, span_processor):
            self.added.append(span_processor)  # fails before `__init__` has made the list
            super().add_span_processor(span_processor)

    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = Late()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def concurrent():
    from opentelemetry import trace
    from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor

    # A bug of the SDK: at exit its thread pool is closed before the provider is.
    trace.set_tracer_provider(
        exporting(active_span_processor=ConcurrentMultiSpanProcessor(2), shutdown_on_exit=False)
    )


def noop():
    from opentelemetry import trace

    trace.set_tracer_provider(trace.NoOpTracerProvider())


def logfire():
    import logfire

    logfire.configure(send_to_logfire=False, console=False, inspect_arguments=False)


def lens():
    from nemo.lens import NemoLensConfig, setup_telemetry

    os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/protobuf"
    setup_telemetry(NemoLensConfig(enabled=True, metrics_enabled=False, span_groups="all"))


def initialize():
    from opentelemetry.instrumentation.auto_instrumentation import initialize

    initialize()


def instrument():
    from failgraph.instrumentation.instrumentor import FailgraphInstrumentor

    FailgraphInstrumentor().instrument()


def attach():
    from failgraph.instrumentation.attach import attach

    attach("the test")


def uninstrument():
    from failgraph.instrumentation.instrumentor import FailgraphInstrumentor

    FailgraphInstrumentor().uninstrument()


def sdk():
    import opentelemetry.sdk.trace  # noqa: F401


def fail():
    """Let one failure leave two spans."""
    from opentelemetry import trace

    from failgraph import NgFailureEvent

    tracer = trace.get_tracer("program")
    try:
        with tracer.start_as_current_span("outer"), tracer.start_as_current_span("inner"):
            raise NgFailureEvent("judge_failed", f"answered with key {SECRET}", boundary="model")
    except NgFailureEvent:
        pass


def lens_fail():
    """Let one failure leave a span of nemo-lens."""
    from nemo.lens import managed_span

    from failgraph import NgFailureEvent

    try:
        with managed_span("job", "managed"):
            raise NgFailureEvent("judge_failed", f"answered with key {SECRET}", boundary="model")
    except NgFailureEvent:
        pass


def child():
    """Do the work of a child process."""
    fail()
    flush()


def flush():
    from opentelemetry import trace

    provider = trace.get_tracer_provider()
    if hasattr(provider, "force_flush"):
        provider.force_flush()


def fork():
    pid = os.fork()
    if pid == 0:
        child()
        os._exit(0)
    os.waitpid(pid, 0)


def process(method):
    process = multiprocessing.get_context(method).Process(target=child)
    process.start()
    process.join()


def spawn():
    process("spawn")


def forkserver():
    process("forkserver")


def processors(provider):
    """Return how often failgraph's processor is on a provider, or on the one inside of a proxy."""
    inner = getattr(provider, "provider", provider)
    found = getattr(getattr(inner, "_active_span_processor", None), "_span_processors", ())
    return sum(type(each).__name__ == "FailureSpanProcessor" for each in found)


def main():
    for step in sys.argv[1:]:
        globals()[step]()
    found = {"loaded": sorted(name for name in sys.modules if name.startswith("failgraph"))}
    if "opentelemetry.trace" in sys.modules:
        from opentelemetry import trace

        found["processors"] = processors(trace.get_tracer_provider())
        flush()
    if "failgraph.diagnostics" in sys.modules:
        import failgraph

        found["stats"] = dict(failgraph.stats())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
