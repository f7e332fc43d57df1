"""HTTP clients ask peers, and only peers, for failure reports and take them in, over sockets."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

import failgraph
from builders import event, remote_span
from failgraph import (
    FailureEvent,
    FailureReport,
    NgFailureEvent,
    current_report,
    hop,
    raise_for_failure,
    record,
)
from failgraph.instrumentation import attach as attaching
from failgraph.redaction import redact
from failgraph.transport.header_encoder import encode_headers
from sdk_spans import failure_events

httpx = pytest.importorskip("httpx", reason="this set has no httpx")
P = "nemo.gym.failure."
PLACE = remote_span(0xABCDEF, 0x1234)


@pytest.fixture(autouse=True)
def attached():
    attaching.attach("the test", include_global=False)
    yield
    attaching.detach()


def report_headers(
    *events: FailureEvent, own: str | None = None, recorded: bool = True
) -> dict[str, str]:
    """Return the reply headers of a peer that reports `events`.

    Args:
        events: The failures of the report.
        own: The id of the peer's own failure.
        recorded: False if the peer only passes the failures on.
    """
    report = FailureReport(events={event.event_id: event for event in events}, failure_id=own)
    places = {event.event_id: PLACE for event in events} if recorded else {}
    encoded = encode_headers(report, places, 8000)
    assert encoded is not None
    spans = {} if encoded.spans_value is None else {"X-NG-Failure-Spans": encoded.spans_value}
    return {"X-NG-Failure-Report": encoded.report_value, **spans}


class Peer:
    """A server that keeps the headers of its requests.

    It answers with `status` and `headers` on `/`, and with a redirect on `/to?URL`.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, str]] = []
        self.status = 500
        self.headers: dict[str, str] = {}
        peer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                peer.requests.append({name.lower(): value for name, value in self.headers.items()})
                if self.path.startswith("/to?"):
                    self.send_response(302)
                    self.send_header("location", self.path[4:])
                else:
                    self.send_response(peer.status)
                for name, value in peer.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", "4")
                self.end_headers()
                self.wfile.write(b"body")

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, host: str = "127.0.0.1", path: str = "/") -> str:
        return f"http://{host}:{self.port}{path}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def peer():
    made = Peer()
    yield made
    made.close()


async def with_aiohttp(url: str, headers=None):
    aiohttp = pytest.importorskip("aiohttp", reason="this set has no aiohttp")
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        await response.read()
        return response


async def with_httpx_async(url: str, headers=None):
    async with httpx.AsyncClient(follow_redirects=True, trust_env=False) as client:
        return await client.get(url, headers=headers)


async def with_httpx(url: str, headers=None):
    with httpx.Client(follow_redirects=True, trust_env=False) as client:
        return client.get(url, headers=headers)


async def with_requests(url: str, headers=None):
    with requests.Session() as session:
        session.trust_env = False
        return session.get(url, headers=headers)


@pytest.fixture(
    params=[with_aiohttp, with_httpx_async, with_httpx, with_requests],
    ids=lambda each: each.__name__,
)
def get(request):
    """Return a function that sends one GET, with each client in turn."""
    return lambda url, headers=None: asyncio.run(request.param(url, headers))


def test_a_peer_is_asked_and_its_report_is_taken_in(get, peer, tracer, exporter):
    """The peer's failure is in the hop's report, is not repeated, and effects name its span."""
    peer.headers = report_headers(event("remote", failure_reason="busy"), own="remote")
    with tracer.start_as_current_span("request"), hop():
        response = get(peer.url())
        with pytest.raises(NgFailureEvent) as raised:
            raise_for_failure(response)
        effect = NgFailureEvent("agent_run_error", boundary="agent")
        effect.__cause__ = raised.value
        record(effect)
        report = current_report()
    assert peer.requests[0]["x-ng-failure-accept"] == "1"
    assert report.events["remote"] == event("remote", failure_reason="busy")
    assert report.events[effect.event_id].cause_id == "remote"
    (attributes,) = failure_events(exporter.get_finished_spans())
    assert attributes[P + "id"] == effect.event_id
    assert attributes[P + "cause.span_id"] == f"{PLACE.span_id:016x}"
    assert attributes[P + "cause.trace_id"] == f"{PLACE.trace_id:032x}"


def test_a_failure_that_a_peer_only_passed_on_is_recorded_as_remote(get, peer, tracer, exporter):
    """No server below recorded it, so this trace is its only place."""
    peer.headers = report_headers(event("remote"), own="remote", recorded=False)
    with tracer.start_as_current_span("request"), hop():
        get(peer.url())
        get(peer.url())
        assert list(current_report().events) == ["remote"]
    (attributes,) = failure_events(exporter.get_finished_spans())
    assert attributes[P + "id"] == "remote"
    assert attributes[P + "remote"] is True


def test_a_local_failure_is_never_overwritten(get, peer, tracer, exporter):
    """A peer's copy changes neither an event that this process observed nor its place."""
    mine = event("mine", failure_reason="as it was")
    peer.headers = report_headers(
        event("mine", kind="cancelled", failure_reason="a lie that is much longer than the truth")
    )
    with tracer.start_as_current_span("request") as span, hop():
        recorded = record(mine)
        get(peer.url())
        record(event("effect", cause_id="mine"))
        assert current_report().events["mine"] == mine
    effect = failure_events(exporter.get_finished_spans())[-1]
    assert recorded.span_context == span.get_span_context()
    assert effect[P + "cause.span_id"] == f"{span.get_span_context().span_id:016x}"


def test_the_longer_of_two_copies_is_kept(get, peer, tracer):
    """A copy that was cut to fit a header is replaced by one with more text."""
    with tracer.start_as_current_span("request"), hop():
        for reason in ("the beg…", "the beginning and the end", "the b…"):
            peer.headers = report_headers(event("remote", failure_reason=reason))
            get(peer.url())
        assert current_report().events["remote"].failure_reason == "the beginning and the end"


def test_a_third_party_is_neither_asked_nor_believed(get, peer, tracer, exporter, setting):
    """With `PEERS=localhost`, `127.0.0.1` gets no asking header, and its report is ignored."""
    setting("PEERS", "localhost")
    peer.headers = report_headers(event("remote"), own="remote", recorded=False)
    with tracer.start_as_current_span("request"), hop():
        raise_for_failure(get(peer.url()))
        get(peer.url(), {"X-NG-Failure-Accept": "1"})
        assert current_report() == FailureReport()
    assert not [headers for headers in peer.requests if "x-ng-failure-accept" in headers]
    assert failure_events(exporter.get_finished_spans()) == []


def test_a_redirect_to_a_third_party(get, peer, tracer, exporter, setting):
    """The peer is asked. The host that it redirects to is neither asked nor believed."""
    setting("PEERS", "localhost")
    setting("PEER_TOKEN", "of ours")
    other = Peer()
    other.headers = report_headers(event("lie"), own="lie", recorded=False)
    peer.headers = report_headers(event("true"), recorded=False)
    try:
        with tracer.start_as_current_span("request"), hop():
            raise_for_failure(get(peer.url("localhost", f"/to?{other.url()}")))
            assert list(current_report().events) == ["true"]
    finally:
        other.close()
    assert peer.requests[0]["x-ng-failure-accept"] == "of ours"
    assert "x-ng-failure-accept" not in other.requests[0]


def test_a_session_from_before_attaching(peer, tracer):
    """The hooks are on classes, so that existing sessions ask too."""
    attaching.detach()
    with httpx.Client(trust_env=False) as client, requests.Session() as session:
        session.trust_env = False
        attaching.attach("the test", include_global=False)
        with tracer.start_as_current_span("request"), hop():
            client.get(peer.url())
            session.get(peer.url())
    assert [headers.get("x-ng-failure-accept") for headers in peer.requests] == ["1", "1"]


def test_a_streamed_reply_is_read_from_its_head(peer, tracer):
    """The report is taken in before the body arrives."""
    peer.headers = report_headers(event("remote"))
    with tracer.start_as_current_span("request"), hop():
        with httpx.Client(trust_env=False) as client, client.stream("GET", peer.url()) as response:
            assert list(current_report().events) == ["remote"]
            assert response.read() == b"body"
        with requests.Session() as session:
            session.trust_env = False
            assert session.get(peer.url(), stream=True).raw.read() == b"body"


@pytest.mark.parametrize(
    "value", ["{", "none", "{}", "[]", "eJw=", "x" * 3000, json.dumps({"events": {"a": 1}})]
)
def test_an_invalid_report_changes_nothing(get, peer, tracer, exporter, value):
    """It is counted and ignored, and the program gets the reply."""
    peer.headers = {"X-NG-Failure-Report": value, "X-NG-Failure-Spans": value}
    peer.status = 200
    with tracer.start_as_current_span("request"), hop():
        response = get(peer.url())
        raise_for_failure(response)
        assert not current_report().events
    assert (getattr(response, "status", None) or response.status_code) == 200
    assert failure_events(exporter.get_finished_spans()) == []


def test_the_asking_header_is_removed_after_the_request(get, peer, setting):
    """The request object of the response has no token, and the headers that its caller set."""
    setting("PEER_TOKEN", "a token of ours")
    response = get(peer.url(), {"X-Own": "1"})
    assert peer.requests[0]["x-ng-failure-accept"] == "a token of ours"
    request = getattr(response, "request_info", None) or response.request
    assert "a token of ours" not in repr(request) + str(dict(request.headers))
    assert {name.lower() for name in request.headers} & {"x-ng-failure-accept"} == set()
    assert request.headers["X-Own"] == "1"


def test_the_token_is_a_secret_in_every_text(setting):
    """Redaction knows the token, whoever writes it."""
    setting("PEER_TOKEN", "a token of ours")
    assert "a token of ours" not in redact("sent X-NG-Failure-Accept: a token of ours, got 500")


def test_a_redirect_to_an_adapter_of_the_program(peer, setting):
    """An adapter without a hook does not get the asking header of the first request."""
    seen = []

    class Own(requests.adapters.BaseAdapter):
        def send(self, request, **kwargs):
            seen.append(dict(request.headers))
            response = requests.Response()
            response.status_code, response.request, response.url = 200, request, request.url
            return response

        def close(self):
            pass

    setting("PEER_TOKEN", "a token of ours")
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://third.example/", Own())
        session.get(peer.url(path="/to?http://third.example/x"))
    assert peer.requests[0]["x-ng-failure-accept"] == "a token of ours"
    assert "a token of ours" not in str(seen)


@pytest.mark.parametrize("client", ["httpx", "requests", "aiohttp"])
def test_a_proxy_is_neither_asked_nor_believed(client, peer, tracer, exporter):
    """A proxy reads requests for http addresses, and could answer instead of the peer."""
    peer.headers = report_headers(event("lie"), own="lie", recorded=False)
    with tracer.start_as_current_span("request"), hop():
        if client == "requests":
            with requests.Session() as session:
                session.trust_env = False
                session.get("http://model.internal/", proxies={"http": peer.url()})
        elif client == "httpx":
            with httpx.Client(proxy=peer.url(), trust_env=False) as own:
                own.get("http://model.internal/")
        else:
            aiohttp = pytest.importorskip("aiohttp", reason="this set has no aiohttp")

            async def through():
                async with aiohttp.ClientSession() as session:
                    async with session.get("http://model.internal/", proxy=peer.url()) as response:
                        await response.read()

            asyncio.run(through())
        assert current_report() == FailureReport()
    assert len(peer.requests) == 1
    assert "x-ng-failure-accept" not in peer.requests[0]
    assert failure_events(exporter.get_finished_spans()) == []


def test_opentelemetrys_instrumentation_can_be_removed(peer, make_provider, exporter):
    """It wraps httpx before failgraph. When it is removed, failgraph's hook stays."""
    contrib = pytest.importorskip(
        "opentelemetry.instrumentation.httpx", reason="needs contrib"
    ).HTTPXClientInstrumentor()
    attaching.detach()
    contrib.instrument(tracer_provider=make_provider())
    try:
        attaching.attach("the test", include_global=False)
    finally:
        contrib.uninstrument()
    with httpx.Client(trust_env=False) as client:
        client.get(peer.url())
    assert peer.requests[0]["x-ng-failure-accept"] == "1"
    assert exporter.get_finished_spans() == ()


def test_raising_continues_the_whole_chain(get, peer):
    """The exception has the id of the peer's own failure, and its causes as `__cause__`."""
    peer.headers = report_headers(event("root"), event("own", cause_id="root"), own="own")
    with pytest.raises(NgFailureEvent) as raised:
        raise_for_failure(get(peer.url()))
    assert raised.value.event_id == "own"
    assert raised.value.__cause__.event_id == "root"


def test_a_success_raises_nothing(get, peer):
    """A report with an own failure behind a 200 raises nothing."""
    peer.status = 200
    peer.headers = report_headers(event("judge"), own="judge")
    raise_for_failure(get(peer.url()))


class Headless:
    status_code, headers, url = 500, None, "x"


@pytest.mark.internal_error
@pytest.mark.parametrize("response", [None, object(), Headless()])
def test_an_object_that_is_not_a_response_raises_nothing(response):
    """`raise_for_failure` takes any object."""
    raise_for_failure(response)


def test_turned_off(get, peer, tracer, setting):
    """With `FAILGRAPH_ENABLED=false` no peer is asked."""
    setting("ENABLED", "false")
    with tracer.start_as_current_span("request"), hop():
        get(peer.url())
    assert "x-ng-failure-accept" not in peer.requests[0]
    assert not set(failgraph.stats()) - {"swallowed"}  # which other tests may leave behind
