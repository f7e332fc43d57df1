# The program of injecting.py: what a user writes, with failgraph and without.
# It ends with an exception.
import asyncio
import contextlib
import gc
import logging

import fastapi
import httpx
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, Status, StatusCode

import asgi
import failgraph
from failgraph import FailureEvent, FailureReport, NgFailureEvent
from failgraph.instrumentation import startup
from failgraph.transport.header_encoder import encode_headers

logging.basicConfig(level=logging.ERROR, format="%(message)s")
if ATTACHED:  # noqa: F821 - injecting.py gives it
    hop, record, flush = failgraph.hop, failgraph.record, failgraph.flush
    begin()  # noqa: F821 - injecting.py gives it
    startup._attach("opentelemetry.sdk.trace")
else:
    hop, flush = contextlib.nullcontext, lambda *_: True

    def record(*_, **__):
        pass


provider = TracerProvider(shutdown_on_exit=False)
provider.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))
tracer = provider.get_tracer("program")


def failure(kind="judge_failed", **fields):
    return NgFailureEvent(kind, "a reason, password=hunter2horse", boundary="model", **fields)


class Weird(Exception):
    def __str__(self):
        raise LookupError("no text")


# --- by hand
with tracer.start_as_current_span("outer") as outer, hop():
    for failed in (
        failure(),
        Weird(),
        ValueError("x"),
        None,
        FailureEvent(event_id="e", failure_kind="k", boundary="agent"),
    ):
        print(type(record(failed, boundary="agent", kind="agent_error", own=True)).__name__ != "")
    record(failure(), deferred=True)
    failgraph.current_report()
    failgraph.report_for_trace(outer.get_span_context())
    cause = failure("a_cause", details={"provider_request_id": "r"})
    with contextlib.suppress(NgFailureEvent):
        try:
            raise cause
        except NgFailureEvent as error:
            raise failure("an_effect") from error
print(flush())

# --- what leaves spans
for raised in (failure(), ValueError("token=abcdefgh12345678"), KeyError(1)):
    try:
        with tracer.start_as_current_span("outer"), hop():
            with tracer.start_as_current_span("inner"):
                try:
                    raise failure("root")
                except NgFailureEvent as error:
                    raise raised from error
    except Exception as error:
        print(
            error is raised,
            type(error.__cause__).__name__,
            error.__context__ is error.__cause__,
            len(error.args),
        )
    span = tracer.start_span("by hand")
    span.record_exception(raised, {"a": 1})
    span.set_status(Status(StatusCode.ERROR, "password=hunter2horse"))
    span.end()
with contextlib.suppress(NgFailureEvent), tracer.start_span("not current"):
    raise failure()
with hop():
    with contextlib.suppress(NgFailureEvent):
        raise failure("handled and let go")
gc.collect(0)

# --- served
app = fastapi.FastAPI()


@app.get("/fails")
async def fails():
    raise failure() from ValueError("why")


@app.get("/recovers")
async def recovers():
    with contextlib.suppress(NgFailureEvent):
        raise failure()
    return {"fine": True}


@app.get("/answers")
async def answers():
    raise fastapi.HTTPException(503, "no")


@app.exception_handler(KeyError)
async def handler(request, error):
    return fastapi.responses.JSONResponse({"handled": True}, 502)


@app.get("/handled")
async def handled():
    raise KeyError("x") from failure()


for path in ("/fails", "/recovers", "/answers", "/handled", "/nothing"):
    with tracer.start_as_current_span("GET", kind=trace.SpanKind.SERVER):
        answer = asgi.run(app, path, asgi.ACCEPTS_REPORTS)
    print(path, answer.status, answer.body, repr(answer.raised)[:20], len(answer.messages))
    if answer.raised is not None:
        print(type(answer.raised.__cause__).__name__)

# --- asking others
event = FailureEvent(event_id="there", failure_kind="k", boundary="model", failure_reason="theirs")
told = encode_headers(
    FailureReport(events={"there": event}, failure_id="there"),
    {"there": SpanContext(5, 6, True)},
    4000,
)
carried = {"x-ng-failure-report": told.report_value, "x-ng-failure-spans": told.spans_value}
transport = httpx.MockTransport(lambda request: httpx.Response(500, headers=carried, text="theirs"))


async def ask():
    async with httpx.AsyncClient(transport=transport) as client:
        return await client.get("http://localhost/")


with tracer.start_as_current_span("asking"), hop():
    for response in (
        httpx.Client(transport=transport).get("http://localhost/"),
        asyncio.run(ask()),
    ):
        print(response.status_code, response.text, sorted(response.request.headers))
        try:
            failgraph.raise_for_failure(response)
        except NgFailureEvent as error:
            print("theirs" in str(error) or str(error))
        else:
            print(True)  # it may have no failure to raise

print("before the end")
with tracer.start_as_current_span("last"), hop():
    try:
        print(1 / 0)
    except ZeroDivisionError as error:
        raise failure("the_program_ends_so") from error
