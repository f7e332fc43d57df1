"""A program that fails once, and then ends in the way that is named in argv.

Its spans have ended, but nothing is exported before (the test sets the delay of the batch), and the
provider does nothing at exit.
"""

import multiprocessing
import os
import signal
import sys
import time

from traced import exporting, fail

from failgraph import FailureMiddleware


def provider():
    from opentelemetry import trace

    trace.set_tracer_provider(exporting(shutdown_on_exit=False))


def failed():
    provider()
    fail()
    print("failed", flush=True)


def returns():
    failed()


def exits():
    failed()
    sys.exit(3)


def raises():
    failed()
    raise SystemExit


def terminated():
    """End by a SIGTERM that the program turns into an exit, as most servers do."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    failed()
    time.sleep(60)


def hangs():
    """End with an exporter that never returns."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

    class Hanging(SpanExporter):
        def export(self, spans):
            time.sleep(3600)

    hanging = TracerProvider(shutdown_on_exit=False)
    hanging.add_span_processor(BatchSpanProcessor(Hanging()))
    trace.set_tracer_provider(hanging)
    fail()
    print("failed", flush=True)


def child_of(method, target):
    child = multiprocessing.get_context(method).Process(target=globals()[target])
    child.start()
    if target == "terminated":
        sys.stdin.readline()  # until the child has failed
        child.terminate()
    child.join()
    assert child.exitcode == 0, child.exitcode


def forked():
    """End in a child of `os.fork`, without multiprocessing."""
    if os.fork() == 0:
        failed()
        sys.exit(0)
    os.wait()


async def bare(scope, receive, send):
    """Serve as an ASGI application of no framework, which fails at each request."""
    if scope["type"] == "lifespan":
        for each in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{each}.complete"})
        return
    fail()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def starlette():
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def answer(request):
        fail()
        return PlainTextResponse(str(os.getpid()))

    return Starlette(routes=[Route("/", answer)])


if __name__ == "__main__":
    way, *rest = sys.argv[1:]
    globals()[way](*rest)
elif os.environ.get("SERVED"):
    provider()
    application = starlette() if os.environ["SERVED"] == "starlette" else FailureMiddleware(bare)
