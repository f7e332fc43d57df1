"""The server layer: a request's failures are recorded once, in its trace, and its own is marked."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import socket
import subprocess
import sys
import threading
import weakref

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

import failgraph
from asgi import ACCEPTS_REPORTS, run
from builders import failure
from failgraph import FailureEvent, FailureReport, NgFailureEvent, record
from failgraph.instrumentation import attach as attaching
from failgraph.transport.asgi import FailureMiddleware
from failgraph.transport.header_decoder import decode_report
from failgraph.transport.header_encoder import encode_headers
from failgraph.transport.replies import receive_report
from failgraph.transport.request import SCOPE_KEY

fastapi = pytest.importorskip(
    "fastapi", reason="the server layer is tested on FastAPI, which this set lacks"
)
from fastapi.responses import JSONResponse, StreamingResponse  # noqa: E402
from starlette.background import BackgroundTask  # noqa: E402

P = "nemo.gym.failure."


@pytest.fixture(autouse=True)
def attached():
    attaching.attach("the test", include_global=False)
    yield
    attaching.detach()
    if hasattr(BackgroundTask, "_otel_original_call"):
        # OpenTelemetry's instrumentation wraps it once per process, with its first tracer.
        BackgroundTask.__call__ = BackgroundTask._otel_original_call
        del BackgroundTask._otel_original_call


def contrib(provider, **options):
    """Return an application that OpenTelemetry's own instrumentation traces."""
    instrumentor = pytest.importorskip("opentelemetry.instrumentation.fastapi").FastAPIInstrumentor
    app = fastapi.FastAPI(**options)
    instrumentor.instrument_app(app, tracer_provider=provider)
    return app


def native(provider, **options):
    """Return an application that FastAPI itself traces, from 0.165 on."""
    pytest.importorskip("fastapi.telemetry", reason="this FastAPI does not trace itself")
    return fastapi.FastAPI(telemetry={"tracer_provider": provider}, **options)


def starlettes(provider, **options):
    """Return an application that Starlette's own middleware traces."""
    middleware = pytest.importorskip(
        "starlette.middleware.opentelemetry", reason="this Starlette has no tracing"
    )
    app = untraced(provider, **options)
    app.add_middleware(middleware.OpenTelemetryMiddleware, tracer_provider=provider)
    return app


def untraced(provider, **options):
    """Return an application that is not traced."""
    try:
        return fastapi.FastAPI(telemetry={"tracing": False}, **options)
    except TypeError:
        return fastapi.FastAPI(**options)


@pytest.fixture(params=[contrib, native, starlettes])
def app(request, make_provider):
    """A traced application, to which the test adds routes."""
    provider = make_provider()
    made = request.param(provider)
    made.state.tracer = provider.get_tracer("test")
    return made


@pytest.fixture
def spans(exporter):
    """The finished spans by name. The SERVER span has the name `server`."""

    def read() -> dict:
        return {
            "server" if span.kind is trace.SpanKind.SERVER else span.name: span
            for span in exporter.get_finished_spans()
        }

    return read


@pytest.fixture
def written(exporter):
    """Each failure event that was written, by time: (span, kind, late).

    The span of a failure span is its parent.
    """

    def read() -> list[tuple[str, str, bool]]:
        by_id = {span.context.span_id: span for span in exporter.get_finished_spans()}

        def name(span) -> str:
            while span.name == "nemo.gym.failure":
                span = by_id[span.parent.span_id]
            # FastAPI's own tracing has spans of its own for the parts of a request.
            part = span.kind is trace.SpanKind.SERVER or span.name.startswith("fastapi.")
            return "server" if part else span.name

        events = [
            (
                event.timestamp,
                (name(span), event.attributes[P + "kind"], bool(event.attributes.get(P + "late"))),
            )
            for span in exporter.get_finished_spans()
            for event in span.events
            if event.name == "nemo.gym.failure"
        ]
        return [place for _, place in sorted(events)]

    return read


def own(span) -> str | None:
    """Return the id of the own failure that a span names."""
    return span.attributes.get(P + "report.id")


def report(answer) -> FailureReport:
    sent = decode_report(answer.headers["x-ng-failure-report"])
    assert sent is not None
    return sent


def check_own(answer, span, kind: str) -> None:
    """Check that header and span name the same own failure, of that kind."""
    sent = report(answer)
    assert sent.failure_id == own(span)
    assert sent.events[sent.failure_id].failure_kind == kind
    assert list(span.attributes[P + "report.ids"]) == list(sent.events)


def test_a_route_that_raises(app, spans, written):
    """It is recorded on the request's span, marked as its own, and sent to the peer that asked."""

    @app.get("/")
    def route():
        raise failure()

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert answer.status == 500
    assert isinstance(answer.raised, NgFailureEvent)
    assert written() == [("server", "judge_failed", False)]
    server = spans()["server"]
    check_own(answer, server, "judge_failed")
    assert server.status.status_code is StatusCode.ERROR


def test_an_inner_span_keeps_its_failure(app, spans, written):
    """The failure is on the inner span, the report on the request's span."""

    @app.get("/")
    def route():
        with app.state.tracer.start_as_current_span("work"):
            raise failure()

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert written() == [("work", "judge_failed", False)]
    check_own(answer, spans()["server"], "judge_failed")


@pytest.mark.parametrize("asynchronous", [True, False])
@pytest.mark.parametrize("middleware", [True, False])
def test_an_exception_handler_that_answers_503(app, spans, written, asynchronous, middleware):
    """The handled failure is the request's own, also below a `BaseHTTPMiddleware`."""
    if asynchronous:

        @app.exception_handler(NgFailureEvent)
        async def handle(request, error):
            return JSONResponse({"detail": "try later"}, 503)
    else:

        @app.exception_handler(NgFailureEvent)
        def handle(request, error):
            return JSONResponse({"detail": "try later"}, 503)

    if middleware:

        @app.middleware("http")
        async def through(request, call_next):
            return await call_next(request)

    @app.get("/")
    def route():
        raise failure()

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert (answer.status, answer.raised) == (503, None)
    assert json.loads(answer.body) == {"detail": "try later"}
    assert written() == [("server", "judge_failed", False)]
    server = spans()["server"]
    check_own(answer, server, "judge_failed")
    assert server.status.status_code is StatusCode.ERROR


def test_a_handler_that_answers_200_recovers(app, spans, written):
    """A failure that a handler turns into success is recorded but not the request's own."""

    @app.exception_handler(NgFailureEvent)
    async def handle(request, error):
        return JSONResponse({"reward": 0})

    @app.get("/")
    def route():
        raise failure()

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert answer.status == 200
    assert written() == [("server", "judge_failed", False)]
    assert report(answer).failure_id is None
    assert len(report(answer).events) == 1
    assert spans()["server"].status.status_code is not StatusCode.ERROR


def test_an_app_middleware_that_answers_500(app, spans, written):
    """NeMo Gym's pattern: every exception of a route becomes a JSON 500."""

    @app.middleware("http")
    async def catch(request, call_next):
        try:
            return await call_next(request)
        except Exception as error:
            return JSONResponse(repr(error), 500)

    @app.get("/")
    def route():
        raise failure()

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert (answer.status, answer.raised) == (500, None)
    assert written() == [("server", "judge_failed", False)]
    check_own(answer, spans()["server"], "judge_failed")


@pytest.mark.parametrize(("status", "unfinished"), [(200, None), (404, None), (500, True)])
def test_an_error_without_an_own_failure_does_not_count_as_recovery(
    status, unfinished, app, spans, written
):
    """What the request has seen may be why it failed."""

    @app.get("/")
    def route():
        with contextlib.suppress(NgFailureEvent):
            raise failure()
        return JSONResponse("try again later", status)

    assert run(app).status == status
    assert written() == [("server", "judge_failed", False)]
    attributes = spans()["server"].attributes
    assert attributes.get(P + "report.unfinished") is unfinished
    assert P + "report.id" not in attributes


def test_an_app_middleware_below_the_tracing_that_answers_500(make_provider, spans, written):
    """The same inside of Starlette's tracing: the reply of 500 is the failure's."""
    middleware = pytest.importorskip(
        "starlette.middleware.opentelemetry", reason="this Starlette has no tracing"
    )
    app = untraced(None)

    @app.middleware("http")
    async def catch(request, call_next):
        try:
            return await call_next(request)
        except Exception as error:
            return JSONResponse(repr(error), 500)

    app.add_middleware(middleware.OpenTelemetryMiddleware, tracer_provider=make_provider())

    @app.get("/")
    def route():
        raise failure()

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert (answer.status, answer.raised) == (500, None)
    assert written() == [("server", "judge_failed", False)]
    check_own(answer, spans()["server"], "judge_failed")


def test_a_retry_that_recovers(app, spans, written):
    """Each caught failure is recorded where it was created, and the successful reply reports it."""

    @app.get("/")
    async def route():
        for attempt in range(3):
            try:
                with app.state.tracer.start_as_current_span(
                    f"attempt {attempt}", record_exception=False
                ):
                    if attempt < 2:
                        raise failure("transport_timeout")
            except NgFailureEvent:
                await asyncio.sleep(0)
        return "done"

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert answer.status == 200
    assert written() == [
        ("attempt 0", "transport_timeout", False),
        ("attempt 1", "transport_timeout", False),
    ]
    assert report(answer).failure_id is None
    assert len(report(answer).events) == 2
    assert own(spans()["server"]) is None


def test_a_failure_that_is_still_held_when_the_reply_starts(app, written):
    """A failure is reported although the program still holds it."""
    held = []

    @app.get("/")
    async def route():
        try:
            raise failure("transport_timeout")
        except NgFailureEvent as error:
            held.append(error)
        return "done"

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert written() == [("server", "transport_timeout", False)]
    assert len(report(answer).events) == 1


def test_causes_of_what_escapes(app, spans, written):
    """A chain is recorded cause first, and the outermost is the own failure."""

    @app.get("/")
    async def route():
        try:
            raise failure("transport_timeout")
        except NgFailureEvent as cause:
            raise failure("verifier_error") from cause

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert [kind for _, kind, _ in written()] == ["transport_timeout", "verifier_error"]
    sent = report(answer)
    assert sent.events[sent.failure_id].cause_id in sent.events
    assert spans()["server"].attributes[P + "report.root.kind"] == "transport_timeout"


def test_a_background_task_that_fails_after_the_reply(app, spans, written):
    """The failure is late: in the trace, but in no report."""

    async def later():
        raise failure("persistence_failed")

    @app.get("/")
    async def route():
        return JSONResponse("done", background=BackgroundTask(later))

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert answer.status == 200
    assert "x-ng-failure-report" not in answer.headers
    assert [(kind, late) for _, kind, late in written()] == [("persistence_failed", True)]
    assert own(spans()["server"]) is None


def test_a_stream_that_fails_after_it_began(app, written):
    """The failure is late, because the status was sent before it."""

    async def parts():
        yield b"one"
        raise failure("session_lost")

    @app.get("/")
    async def route():
        return StreamingResponse(parts())

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert answer.status == 200
    assert answer.raised is not None
    assert [(kind, late) for _, kind, late in written()] == [("session_lost", True)]


def test_a_request_that_is_cancelled(app, written, spans):
    """The cancellation passes unchanged; only a failure that led to it is recorded."""

    @app.get("/")
    async def route():
        await asyncio.sleep(3600)

    answer = run(app, headers=ACCEPTS_REPORTS, cancel_after=0.05)
    assert isinstance(answer.raised, asyncio.CancelledError)
    assert answer.messages == []
    assert written() == []

    @app.get("/other")
    async def other():
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError as error:
            raise error from failure("kill_shaped")

    answer = run(app, "/other", headers=ACCEPTS_REPORTS, cancel_after=0.05)
    assert isinstance(answer.raised, asyncio.CancelledError)
    assert [kind for _, kind, _ in written()] == ["kill_shaped"]


def test_a_client_that_goes_away(app, written):
    """A stream to a client that is gone ends as without failgraph; its failure is recorded."""
    ended = []

    async def parts():
        try:
            for number in range(100):
                yield str(number).encode()
                await asyncio.sleep(0.01)
        finally:
            ended.append("ended")
            try:
                raise failure("session_lost")
            except NgFailureEvent:
                pass

    @app.get("/")
    async def route():
        return StreamingResponse(parts())

    with_failgraph = run(app, headers=ACCEPTS_REPORTS, gone_after=0.05)
    attaching.detach()
    without_failgraph = run(app, headers=ACCEPTS_REPORTS, gone_after=0.05)
    assert ended == ["ended", "ended"]
    assert type(with_failgraph.raised) is type(without_failgraph.raised)
    assert abs(len(with_failgraph.messages) - len(without_failgraph.messages)) < 5
    assert [kind for _, kind, _ in written()] == ["session_lost"]


def test_a_request_without_failures_gets_the_same_bytes(app, spans):
    """There is no header and no attribute without a failure."""

    @app.get("/")
    def route():
        return "done"

    asked, plain = run(app, headers=ACCEPTS_REPORTS), run(app)
    assert asked.messages == plain.messages
    assert not [key for key in spans()["server"].attributes if key.startswith(P)]


def test_a_client_that_did_not_ask_gets_the_same_bytes(app, written):
    """A failing reply has the same bytes with and without failgraph if nobody asked."""

    @app.get("/")
    def route():
        raise failure()

    with_failgraph = run(app)
    attaching.detach()
    without_failgraph = run(app)
    assert with_failgraph.messages == without_failgraph.messages
    assert len(written()) == 1


@pytest.mark.parametrize(
    ("settings", "headers", "client", "sent"),
    [
        ({}, ACCEPTS_REPORTS, ("127.0.0.1", 1), True),
        ({}, ACCEPTS_REPORTS, ("10.1.2.3", 1), True),
        ({}, ACCEPTS_REPORTS, ("::1", 1), True),
        ({}, ACCEPTS_REPORTS, ("::ffff:10.0.0.1", 1), True),
        ({}, ACCEPTS_REPORTS, ("93.184.216.34", 1), False),
        ({}, ACCEPTS_REPORTS, None, False),
        ({}, (), ("127.0.0.1", 1), False),
        ({}, (*ACCEPTS_REPORTS, (b"x-forwarded-for", b"1.2.3.4")), ("127.0.0.1", 1), False),
        ({}, (*ACCEPTS_REPORTS, (b"forwarded", b"for=1.2.3.4")), ("127.0.0.1", 1), False),
        ({"PEERS": "none"}, ACCEPTS_REPORTS, ("127.0.0.1", 1), False),
        ({"PEERS": "*"}, ACCEPTS_REPORTS, ("93.184.216.34", 1), True),
        ({"PEERS": "*"}, (), ("127.0.0.1", 1), False),
        ({"PEERS": "93.184.0.0/16"}, ACCEPTS_REPORTS, ("93.184.216.34", 1), True),
        ({"PEERS": "93.184.0.0/16"}, ACCEPTS_REPORTS, ("127.0.0.1", 1), False),
        ({"PEER_TOKEN": "of ours"}, ACCEPTS_REPORTS, ("127.0.0.1", 1), False),
        (
            {"PEER_TOKEN": "of ours"},
            ((b"X-NG-Failure-Accept", b"of ours"),),
            ("93.184.216.34", 1),
            True,
        ),
    ],
)
def test_who_gets_a_report(make_provider, setting, settings, headers, client, sent):
    """A peer that asks gets the report, by address, token or setting; others never do."""
    for name, value in settings.items():
        setting(name, value)
    app = untraced(None)

    @app.get("/")
    def route():
        raise failure()

    answer = run(app, headers=headers, client=client)
    assert ("x-ng-failure-report" in answer.headers) is sent
    assert ("vary" in answer.headers) is sent


def test_without_any_tracing_the_report_still_travels(make_provider):
    """Without a span the failure has no place in a trace, but the caller gets the report."""
    app = untraced(None)

    @app.get("/")
    def route():
        raise failure()

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert [event.failure_kind for event in report(answer).events.values()] == ["judge_failed"]
    assert "x-ng-failure-spans" not in answer.headers


def test_the_spans_of_failures_are_sent(app, exporter):
    """`X-NG-Failure-Spans` names the span that holds each failure."""

    @app.get("/")
    def route():
        raise failure()

    answer = run(app, headers=ACCEPTS_REPORTS)
    holder = next(
        s
        for s in exporter.get_finished_spans()
        if any(e.name == "nemo.gym.failure" for e in s.events)
    )
    (event_id,) = report(answer).events
    expected = f"{holder.context.trace_id:032x};{event_id}={holder.context.span_id:016x}"
    assert answer.headers["x-ng-failure-spans"] == expected


def test_a_mounted_application_serves_the_same_request(app, spans, written):
    """Both applications share one hop and one report."""
    inside = untraced(None)
    app.mount("/sub", inside)

    @inside.get("/")
    def route():
        raise failure()

    answer = run(app, "/sub/", headers=ACCEPTS_REPORTS)
    assert answer.status == 500
    assert [kind for _, kind, _ in written()] == ["judge_failed"]
    check_own(answer, spans()["server"], "judge_failed")


def test_two_servers_in_one_process(app, make_provider, exporter, written):
    """A request inside a request is a hop of its own; both hops know its failures."""
    other = native(make_provider()) if app.state.tracer else None

    @other.get("/")
    def inner():
        raise failure("verifier_error")

    @app.get("/")
    async def route():
        from asgi import call

        answer = await call(other, headers=ACCEPTS_REPORTS)
        assert answer.status == 500
        return "recovered"

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert answer.status == 200
    assert [kind for _, kind, _ in written()] == ["verifier_error"]
    assert len(report(answer).events) == 1
    assert report(answer).failure_id is None


@contextlib.contextmanager
def served(app):
    """Serve on loopback with uvicorn. The value is the port."""
    uvicorn = pytest.importorskip("uvicorn", reason="this set has no server")
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def test_a_pipelined_request_has_its_own_trace(app, exporter):
    """uvicorn starts a pipelined request in the context of the one before; it has its own trace."""

    @app.get("/{name}")
    async def route(name: str):
        if name == "second":
            raise failure()
        return name

    def request(name: str, digit: str) -> bytes:
        last = "connection: close\r\n" if name == "second" else ""
        traceparent = f"00-{digit * 32}-{digit * 16}-01"
        head = f"GET /{name} HTTP/1.1\r\nhost: x\r\ntraceparent: {traceparent}\r\n{last}\r\n"
        return head.encode()

    with (
        served(app) as port,
        socket.create_connection(("127.0.0.1", port), timeout=60) as connection,
    ):
        connection.sendall(request("first", "a") + request("second", "b"))
        while connection.recv(65536):
            pass
    servers = {
        span.context.trace_id: own(span)
        for span in exporter.get_finished_spans()
        if span.kind.name == "SERVER"
    }
    events = {
        span.context.trace_id: event.attributes[P + "id"]
        for span in exporter.get_finished_spans()
        for event in span.events
        if event.name == "nemo.gym.failure"
    }
    first, second = (int(digit * 32, 16) for digit in "ab")
    assert servers == {first: None, second: events[second]}
    assert list(events) == [second]


@pytest.mark.parametrize("when", ["while it is streamed", "after it"])
def test_a_call_within_the_process_stays_in_the_trace(when, app, exporter):
    """In-process calls have the same client, also after the reply began; they keep the context."""
    tracer, other = app.state.tracer, untraced(None)

    @other.get("/")
    async def inner():
        with tracer.start_as_current_span("inside"):
            return "done"

    async def calling():
        before = trace.get_current_span()
        await other({**scope_of_a_call, "headers": []}, receive, send)
        assert trace.get_current_span() is before
        with tracer.start_as_current_span("behind"):
            pass

    async def receive():
        return {"type": "http.request", "body": b""}

    async def send(message):
        sent.append(message["type"])

    @app.get("/")
    async def route(request: fastapi.Request):
        scope_of_a_call.update(
            {key: request.scope[key] for key in ("type", "asgi", "method", "path", "client")}
        )
        scope_of_a_call.update(
            query_string=b"", http_version="1.1", scheme="http", server=("t", 80)
        )
        if when == "after it":
            return JSONResponse("done", background=BackgroundTask(calling))

        async def body():
            await calling()
            yield b"done"

        return StreamingResponse(body())

    sent, scope_of_a_call = [], {}
    assert run(app).raised is None
    assert sent[-1] == "http.response.body"
    trace_ids = {span.name: span.context.trace_id for span in exporter.get_finished_spans()}
    assert trace_ids["inside"] == trace_ids["behind"]
    assert trace_ids["inside"] in {
        s.context.trace_id for s in exporter.get_finished_spans() if s.kind.name == "SERVER"
    }


def test_websockets(app, spans, written):
    """The failure is on the span, and so is the report; there is no header."""

    @app.websocket("/")
    async def route(websocket: fastapi.WebSocket):
        await websocket.accept()
        raise failure("session_lost")

    answer = run(app, kind="websocket", headers=ACCEPTS_REPORTS)
    assert isinstance(answer.raised, NgFailureEvent)
    assert answer.messages[0]["type"] == "websocket.accept"
    assert "x-ng-failure-report" not in answer.headers
    if "server" not in spans():
        return  # Starlette's own middleware does not trace websockets: there is no span to be on
    assert [kind for _, kind, _ in written()] == ["session_lost"]
    assert own(spans()["server"]) is not None


def test_the_lifespan_is_left_alone(app):
    """It is no hop, and its messages pass unchanged."""
    seen = []

    async def lifespan():
        messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

        async def receive():
            return messages.pop(0)

        async def send(message):
            seen.append(message["type"])

        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        await app(scope, receive, send)
        assert SCOPE_KEY not in scope

    asyncio.run(lifespan())
    assert seen == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_capture_all(app, spans, written, setting):
    """Each escaping exception is the own failure: kind by its type, boundary by the setting."""
    setting("CAPTURE", "all")
    setting("BOUNDARY", "resources_server")

    @app.get("/{what}")
    async def route(what: str):
        raise {
            "slow": TimeoutError("no answer"),
            "odd": KeyError("odd"),
            "gone": ConnectionResetError(),
        }[what]

    for what, kind in (
        ("slow", "transport_timeout"),
        ("odd", "unhandled_exception"),
        ("gone", "transport_peer_drop"),
    ):
        answer = run(app, f"/{what}", headers=ACCEPTS_REPORTS)
        check_own(answer, spans()["server"], kind)
    assert [kind for _, kind, _ in written()] == [
        "transport_timeout",
        "unhandled_exception",
        "transport_peer_drop",
    ]


def test_capture_all_and_a_cancellation(app, spans, written, setting):
    """A cancelled request is recorded, but is not its own failure: the caller wanted it."""
    setting("CAPTURE", "all")
    setting("BOUNDARY", "resources_server")

    @app.get("/")
    async def route():
        await asyncio.sleep(3600)

    run(app, headers=ACCEPTS_REPORTS, cancel_after=0.05)
    assert [kind for _, kind, _ in written()] == ["cancelled"]
    assert own(spans()["server"]) is None


def test_capture_failures_leaves_foreign_exceptions_alone(app, spans, written):
    """By default an exception without a failure in its chain is not recorded."""

    @app.get("/")
    async def route():
        raise KeyError("odd")

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert answer.status == 500
    assert written() == []
    assert "x-ng-failure-report" not in answer.headers


def test_an_application_that_was_created_before(make_provider, written):
    """An application that exists already is hooked, if it has not served a request yet."""
    attaching.detach()
    app = native(make_provider())

    @app.get("/")
    def route():
        raise failure()

    attaching.attach("the test", include_global=False)
    answer = run(app, headers=ACCEPTS_REPORTS)
    assert [kind for _, kind, _ in written()] == ["judge_failed"]
    assert report(answer).failure_id


def test_the_stack_of_a_traced_application_is_what_it_was(make_provider, exporter):
    """OpenTelemetry's instrumentation still adds exactly one SERVER span."""
    app = contrib(make_provider())

    @app.get("/")
    def route():
        return "done"

    run(app)
    kinds = [span.kind for span in exporter.get_finished_spans()]
    assert kinds.count(trace.SpanKind.SERVER) == 1


def test_a_request_that_is_traced_twice_over(make_provider, exporter, written):
    """Traced by FastAPI and Starlette, the report is on the span that has the failures below it."""
    middleware = pytest.importorskip(
        "starlette.middleware.opentelemetry", reason="this Starlette has no tracing"
    )
    provider = make_provider()
    app = native(provider)
    app.add_middleware(middleware.OpenTelemetryMiddleware, tracer_provider=provider)

    @app.get("/")
    def route():
        with provider.get_tracer("test").start_as_current_span("work"):
            raise failure()

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert written() == [("work", "judge_failed", False)]
    spans = exporter.get_finished_spans()
    holder = next(span for span in spans if own(span) is not None)
    by_id = {span.context.span_id: span for span in spans}
    above = next(span for span in spans if span.name == "work")
    while above is not holder:
        above = by_id[above.parent.span_id]
    assert own(holder) == report(answer).failure_id


def test_a_caught_failure_keeps_no_frame_alive(app):
    """A retry loop keeps no frame alive: what is recorded later is the record."""
    held = []

    class Large:
        pass

    def attempt():
        large = Large()
        held.append(weakref.ref(large))
        raise failure("transport_timeout") from ValueError("no answer")

    @app.get("/")
    async def route():
        for _ in range(20):
            with contextlib.suppress(NgFailureEvent):
                attempt()
        return sum(each() is not None for each in held)

    assert run(app).body == b"0"


def test_any_number_of_swallowed_failures_is_recorded(app, spans, written):
    """Each is recorded once: on the span while it has room, then on failure spans."""

    @app.get("/")
    async def route():
        for _ in range(700):
            with contextlib.suppress(NgFailureEvent):
                raise failure("transport_timeout")
        return "done"

    run(app)
    assert len(written()) == 700
    assert spans()["server"].attributes[P + "report.count"] == 700


def test_a_scope_may_be_copied(app, written):
    """Middleware that copies its scope deeply works as without failgraph."""

    class Copies:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            # Not the application, and not FastAPI's own telemetry: a copied tracer exports nothing.
            own = {
                key: value
                for key, value in scope.items()
                if key not in ("app", "fastapi.telemetry")
            }
            await self.app({**scope, **copy.deepcopy(own)}, receive, send)

    app.add_middleware(Copies)

    @app.get("/")
    def route():
        raise failure()

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert answer.status == 500
    assert [kind for _, kind, _ in written()] == ["judge_failed"]
    assert len(report(answer).events) == 1


def test_an_exception_that_is_kept_is_in_each_trace_that_it_fails(app, exporter):
    """One exception object that several requests raise is recorded in each of their traces."""
    cached = failure("provider_unavailable")

    @app.get("/")
    def route():
        raise cached

    answers = [run(app, headers=ACCEPTS_REPORTS) for _ in range(3)]
    events = [
        (span.context.trace_id, event.attributes[P + "id"])
        for span in exporter.get_finished_spans()
        for event in span.events
        if event.name == "nemo.gym.failure"
    ]
    assert len(events) == len(set(events)) == 3
    assert {report(answer).failure_id for answer in answers} == {cached.event_id}


def test_an_exception_that_is_raised_again_from_another_cause_is_a_new_failure(app):
    """A record has one cause, so with another cause the exception gets another id."""
    cached = failure("provider_unavailable")

    @app.get("/{name}")
    def route(name: str):
        raise cached from failure(f"{name}_failed")

    reports = [report(run(app, f"/{name}", headers=ACCEPTS_REPORTS)) for name in ("one", "two")]
    for sent, name in zip(reports, ("one", "two"), strict=True):
        cause = sent.events[sent.events[sent.failure_id].cause_id]
        assert cause.failure_kind == f"{name}_failed"
    assert reports[0].failure_id != reports[1].failure_id


def test_a_failure_that_was_recovered_from_is_not_the_own_failure(app, spans, written):
    """Middleware that handles a failure by a second call of the application has recovered."""

    class Again:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            try:
                await self.app(scope, receive, send)
            except NgFailureEvent:
                await self.app(
                    {**scope, "path": "/nothing", "raw_path": b"/nothing"}, receive, send
                )

    app.add_middleware(Again)

    @app.get("/")
    def route():
        raise failure()

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert answer.status == 404
    if (
        app.user_middleware[-1].cls.__name__ != "OpenTelemetryMiddleware"
    ):  # whose span had ended with the failure
        assert report(answer).failure_id is None
    assert [kind for _, kind, _ in written()] == ["judge_failed"]


def test_capture_all_leaves_replies_alone(app, written, setting):
    """A 404, a 422 or an HTTPException(401) is a reply: no exception escapes the request."""
    setting("CAPTURE", "all")
    setting("BOUNDARY", "resources_server")

    @app.get("/number/{number}")
    def route(number: int):
        raise fastapi.HTTPException(401)

    assert [run(app, path).status for path in ("/nothing", "/number/x", "/number/1")] == [
        404,
        422,
        401,
    ]
    assert written() == []


def test_a_relay_that_copies_headers_passes_no_report_on(app):
    """A report that failgraph asked a peer for goes to no client that did not ask."""
    theirs = FailureEvent(
        event_id="theirs", failure_kind="judge_failed", boundary="resources_server"
    )
    value = encode_headers(FailureReport(events={"theirs": theirs}), {}, 8000).report_value

    @app.get("/")
    async def route():
        receive_report("127.0.0.1", {"x-ng-failure-report": value}.get)
        return JSONResponse("done", headers={"X-NG-Failure-Report": value, "X-Own": "1"})

    stranger = run(app, client=("93.184.216.34", 1))
    assert "x-ng-failure-report" not in stranger.headers
    assert stranger.headers["x-own"] == "1"
    assert list(report(run(app, headers=ACCEPTS_REPORTS)).events) == ["theirs"]


def test_a_peer_cannot_make_any_number_of_events(app, written):
    """Copies that no process recorded are recorded here, at most as many as a report holds."""

    @app.get("/")
    async def route():
        for turn in range(20):
            events = {
                key: FailureEvent(event_id=key, failure_kind="judge_failed", boundary="agent")
                for key in (f"{turn}-{number}" for number in range(200))
            }
            receive_report(
                "127.0.0.1",
                {
                    "x-ng-failure-report": encode_headers(
                        FailureReport(events=events), {}, 60_000
                    ).report_value
                }.get,
            )
        return "done"

    run(app)
    assert len(written()) == 256
    assert failgraph.stats()["copies_refused"] == 20 * 200 - 256


def test_a_call_by_keywords_is_a_request_too(app, written):
    """A subclass may call `__call__` with keywords."""

    @app.get("/")
    def route():
        raise failure()

    class Sub(type(app)):
        async def __call__(self, scope, receive, send):
            await super().__call__(scope=scope, receive=receive, send=send)

    app.__class__ = Sub
    answer = run(app, headers=ACCEPTS_REPORTS)
    assert report(answer).failure_id is not None


def test_a_module_that_is_loaded_again_is_hooked_again():
    """Reloading Starlette creates new classes; tested in a process of its own."""
    script = (
        "import importlib, starlette.applications as a; "
        "from failgraph.instrumentation.attach import attach; "
        "attach('the test', include_global=False); importlib.reload(a); "
        "print(type(vars(a.Starlette)['__call__']).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "Wrapper" in done.stdout


def test_plain_asgi_middleware(tracer, exporter, written):
    """`FailureMiddleware` serves any ASGI application, inside of what creates its SERVER span."""

    async def plain(scope, receive, send):
        if scope["path"] == "/raise":
            raise failure()
        record(failure("verifier_error"), own=True)
        await send({"type": "http.response.start", "status": 500, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    wrapped = FailureMiddleware(plain)

    async def traced(scope, receive, send):
        with tracer.start_as_current_span("server", kind=trace.SpanKind.SERVER):
            await wrapped(scope, receive, send)

    answer = run(traced, headers=ACCEPTS_REPORTS)
    assert report(answer).failure_id == own(exporter.get_finished_spans()[0])
    answer = run(traced, "/raise", headers=ACCEPTS_REPORTS)
    assert isinstance(answer.raised, NgFailureEvent)
    assert answer.messages == []
    assert [kind for _, kind, _ in written()] == ["verifier_error", "judge_failed"]
    assert own(exporter.get_finished_spans()[1]) is not None


def carrying(app, report: FailureReport, value: str | None = None):
    """Add a route whose replies carry a report, as a coming middleware of Gym will (a fake)."""

    @app.get("/")
    def route():
        reply = encode_headers(report, {}, 8000)
        return JSONResponse(
            "done", headers={"X-NG-Failure-Report": reply.report_value if value is None else value}
        )


def test_a_report_that_a_fake_of_gyms_middleware_sends_is_merged(app, written):
    """A client that asks gets one report with both; the carried failures are recorded as copies."""
    theirs = FailureEvent(
        event_id="theirs", failure_kind="judge_failed", boundary="resources_server"
    )
    carrying(app, FailureReport(events={"theirs": theirs}))
    answer = run(app, headers=ACCEPTS_REPORTS)
    names = [name.lower() for name, _ in answer.messages[0]["headers"]]
    assert names.count(b"x-ng-failure-report") == 1
    assert report(answer).events == {"theirs": theirs}
    assert [kind for _, kind, _ in written()] == ["judge_failed"]


@pytest.mark.parametrize("value", [None, "no report"])
def test_a_report_that_a_fake_of_gyms_middleware_sends_is_left_alone(app, value, written):
    """The reply stays as it is if nobody asked or the report is unreadable."""
    theirs = FailureEvent(
        event_id="theirs", failure_kind="judge_failed", boundary="resources_server"
    )
    carrying(app, FailureReport(events={"theirs": theirs}), value)
    headers = () if value is None else ACCEPTS_REPORTS
    with_failgraph = run(app, headers=headers)
    attaching.detach()
    assert with_failgraph.messages == run(app, headers=headers).messages
    assert written() == []


def test_an_own_failure_by_hand_behind_a_200(app, spans):
    """A judge's failure behind a 200 is reported and named, but is no error."""

    @app.get("/")
    async def route():
        record(failure(), own=True)
        return {"reward": 0.0}

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert answer.status == 200
    check_own(answer, spans()["server"], "judge_failed")
    assert spans()["server"].status.status_code is not StatusCode.ERROR


def test_turned_off(app, exporter, setting):
    """With `FAILGRAPH_ENABLED=false` nothing is recorded or sent."""
    setting("ENABLED", "false")

    @app.get("/")
    def route():
        raise failure()

    answer = run(app, headers=ACCEPTS_REPORTS)
    assert "x-ng-failure-report" not in answer.headers
    assert not set(failgraph.stats()) - {"swallowed"}  # left from other tests
