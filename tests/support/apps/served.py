"""A plain ASGI and WSGI application. Each request fails once, in a span, and gets a 200."""

import json
import os

from traced import exporting, fail, flush, processors


def _provider():
    from opentelemetry import trace

    # Under `opentelemetry-instrument` there is one already. A plain program makes its own.
    if not hasattr(trace.get_tracer_provider(), "add_span_processor"):
        trace.set_tracer_provider(exporting())


_provider()


def answer():
    from opentelemetry import trace

    fail()
    flush()
    return json.dumps(
        {"pid": os.getpid(), "processors": processors(trace.get_tracer_provider())}
    ).encode()


async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    body = answer()
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", b"application/json")],
        }
    )
    await send({"type": "http.response.body", "body": body})


def wsgi(environ, start_response):
    start_response("200 OK", [("content-type", "application/json")])
    return [answer()]
