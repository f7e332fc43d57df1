"""Backends that are down, slow, closed, busy or something else.

Each gives one message that says what to do and shows no secret.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import socket
import ssl
import subprocess
import time
import traceback
from collections.abc import Callable
from typing import NamedTuple

import pytest

pytest.importorskip("httpx", reason="backends are read with httpx, which this environment lacks")

from failgraph.backends import client as client_module, response_body
from failgraph.backends.backend_settings import HEADERS_SETTINGS, URL_SETTINGS
from failgraph.backends.client import Client, ClientLimits
from failgraph.backends.location import BackendLocation
from failgraph.backends.response import Response
from failgraph.cli import main
from failgraph.errors import SourceError
from http_stand_in import Handler, ReceivedRequest, Reply, serving

pytestmark = pytest.mark.once

SECRET = "hunter22Secret"
BASIC = "Basic dXNlcjpodW50ZXIyMlNlY3JldA=="  # user:hunter22Secret
SENT = (("authorization", BASIC), ("x-scope-orgid", "tenantSecret7"))
GIVEN_AWAY = (SECRET, BASIC, BASIC.split()[1], "tenantSecret7")
LIMITS = ClientLimits(max_bytes=1 << 20, connect=2, read=0.3, total=0.6, pause=0.0)
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


def raw(text: bytes, wait: float = 0.0) -> Callable[[ReceivedRequest, Handler], None]:
    """Send these bytes as they are, and nothing more."""

    def answer(_: ReceivedRequest, handler: Handler) -> None:
        handler.wfile.write(text)
        handler.wfile.flush()
        time.sleep(wait)
        handler.close_connection = True

    return answer


def drip(_: ReceivedRequest, handler: Handler) -> None:
    """Send one byte after the other, without an end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n")
    for _number in range(100):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def reply(*args: object, **headers: str) -> Callable[[ReceivedRequest, Handler], Reply]:
    return lambda *_: Reply(
        *args, headers={key.replace("_", "-"): value for key, value in headers.items()}
    )


def echo(status: int) -> Callable[[ReceivedRequest, Handler], Reply]:
    """Respond with an error that shows the request, as some proxies do."""
    return lambda asked, _: Reply(
        f"boom {asked.headers} user:{SECRET} \x1b[31m".encode(), status, "text/plain"
    )


class Case(NamedTuple):
    """A response, and the message that it leads to.

    Attributes:
        answer: Sends the response.
        message: The whole message; `{url}` stands for the URL of the server.
    """

    answer: Callable[[ReceivedRequest, Handler], Reply | None]
    message: str


TIMEOUT = "Jaeger at {url} did not respond in time; try again, or ask for less (--limit, --since)"
BROKEN = (
    "Jaeger at {url} sent an incomplete response, or does not speak HTTP; check"
    " FAILGRAPH_JAEGER_URL, or try again"
)
TOO_LARGE = (
    "Jaeger at {url} returned more than 1 MB; save the trace with another program, then run"
    ' "failgraph show FILE"'
)
REDIRECT = (
    "which is not followed; set FAILGRAPH_JAEGER_URL to the address of the API; behind a login, set"
    " FAILGRAPH_JAEGER_HEADERS"
)
WRONG_API = "Give the address in front of /api; behind a login, set FAILGRAPH_JAEGER_HEADERS."

CASES = {
    "silent": Case(raw(b"", wait=0.5), TIMEOUT),
    "slow": Case(drip, TIMEOUT),
    "hangs up": Case(raw(b""), BROKEN),
    "no HTTP": Case(raw(b"SSH-2.0-OpenSSH_9.6\r\n"), BROKEN),
    "truncated": Case(
        raw(b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"result":'),
        BROKEN,
    ),
    "truncated chunks": Case(
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"),
        BROKEN,
    ),
    "truncated gzip": Case(
        reply(gzip.compress(b'{"result":{}}' * 50)[:-9], content_encoding="gzip"),
        BROKEN,
    ),
    "not gzip": Case(reply(b"{}", content_encoding="gzip"), BROKEN),
    "zstd": Case(
        reply(b"\x28\xb5\x2f\xfd", content_encoding="zstd"),
        "Jaeger at {url} sent a response in an encoding that was not requested (zstd); a proxy may"
        " cause that",
    ),
    "large": Case(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 314572800\r\n\r\n"), TOO_LARGE),
    "large, without a length": Case(
        raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * (1 << 21)),
        TOO_LARGE,
    ),
    "a gzip bomb": Case(
        reply(gzip.compress(b"[" * (1 << 26)), content_encoding="gzip"),
        TOO_LARGE,
    ),
    "401": Case(
        echo(401),
        "Jaeger at {url} rejected the credentials (HTTP 401); check FAILGRAPH_JAEGER_HEADERS",
    ),
    "403": Case(
        echo(403),
        "Jaeger at {url} rejected the credentials (HTTP 403); check FAILGRAPH_JAEGER_HEADERS",
    ),
    "400": Case(
        reply(b'{"error":{"httpCode":400,"message":"malformed"}}', 400),
        "Jaeger at {url} returned HTTP 400: 400 malformed",
    ),
    "500": Case(
        reply(b'{"errors":[{"code":500,"msg":"disk \\u001b[31mfull"}]}', 500),
        r"Jaeger at {url} returned HTTP 500: 500 disk \x1b[31mfull",
    ),
    "500 as text": Case(
        reply(b"upstream\n connect\terror", 500, "text/plain"),
        "Jaeger at {url} returned HTTP 500: upstream connect error",
    ),
    "500 as Grafana writes it": Case(
        reply(b'{"message":"no data source"}', 500),
        "Jaeger at {url} returned HTTP 500: no data source",
    ),
    "502 as a page": Case(
        reply(b"<html>oh no</html>", 502, "text/html"), "Jaeger at {url} returned HTTP 502"
    ),
    "504 without a body": Case(reply(b"", 504), "Jaeger at {url} returned HTTP 504"),
    "500, endless": Case(
        raw(b"HTTP/1.1 500 X\r\n\r\n" + b"word " * 9000),
        f"Jaeger at {{url}} returned HTTP 500: {'word ' * 39}word…",
    ),
    "422": Case(
        reply(b"trace exceeds max size", 422, "text/plain"),
        "Jaeger at {url} does not return a trace of this size (HTTP 422): trace exceeds max size;"
        " raise max_bytes_per_trace in its overrides",
    ),
    "429": Case(
        reply(b"slow down", 429, "text/plain"),
        "Jaeger at {url} is busy (HTTP 429): slow down; try again later",
    ),
    "503": Case(
        reply(b"", 503, retry_after="0"), "Jaeger at {url} is busy (HTTP 503); try again later"
    ),
    "429 until tomorrow": Case(
        reply(b"", 429, retry_after="86400"), "Jaeger at {url} is busy (HTTP 429); try again later"
    ),
    "a redirect": Case(
        reply(b"", 302, location=f"https://user:{SECRET}@sso.example/login?token={SECRET}"),
        f"Jaeger at {{url}} redirects to https://sso.example/login (HTTP 302), {REDIRECT}",
    ),
    "a redirect to the same server": Case(
        reply(b"", 307, location="/login"),
        f"Jaeger at {{url}} redirects to /login (HTTP 307), {REDIRECT}",
    ),
    "a redirect without a target": Case(
        reply(b"", 301), f"Jaeger at {{url}} redirects (HTTP 301), {REDIRECT}"
    ),
    "login page": Case(
        reply(b"\n<!DOCTYPE html><title>Sign in</title>", 200, "text/html"),
        f"{{url}} is not a Jaeger API (an HTML page). {WRONG_API}",
    ),
    "404": Case(
        reply(b"404 page not found\n", 404, "text/plain"),
        f"{{url}} is not a Jaeger API (HTTP 404). {WRONG_API}",
    ),
    "text": Case(
        reply(b"hello", 200, "text/plain"),
        f"{{url}} is not a Jaeger API (unexpected data). {WRONG_API}",
    ),
    "JSON of another product": Case(
        reply(b'{"took":3,"hits":[]}'),
        "Jaeger at {url}: 1 JSON document of another kind: no spans, saved rows or journal lines;"
        " FAILGRAPH_JAEGER_URL must be the address in front of /api",
    ),
    "half a document": Case(
        raw(b'HTTP/1.1 200 OK\r\n\r\n{"result":{"resourceSpans":['),
        "Jaeger at {url}: line 1 is incomplete JSON;"
        " FAILGRAPH_JAEGER_URL must be the address in front of /api",
    ),
}


@pytest.fixture
def jaeger_at(setting, monkeypatch, capsys):
    """Return a function that runs `show jaeger TRACE_ID` with secret headers.

    It takes the URL, and returns the exit code and what the command printed on stderr.
    """
    monkeypatch.setattr(client_module, "DEFAULT_LIMITS", LIMITS)

    def run(url: str, *command: str) -> tuple[int, str]:
        setting("JAEGER_URL", url)
        basic = BASIC.replace(" ", "%20").replace("=", "%3D")
        setting("JAEGER_HEADERS", f"authorization={basic},x-scope-orgid=tenantSecret7")
        code = main([*(command or ("show", "jaeger", TRACE_ID))])
        out, err = capsys.readouterr()
        assert out == ""
        assert not [secret for secret in GIVEN_AWAY if secret in err]
        return code, err

    return run


@pytest.mark.parametrize("name", CASES)
def test_one_message_says_what_is_wrong(name, jaeger_at):
    """It also says what to do, shows no header that was sent, and the exit code is 3."""
    case = CASES[name]
    with serving(case.answer) as server:
        message = case.message.replace("{url}", server.url)
        assert jaeger_at(server.url) == (3, f"failgraph: {message}\n")
        assert {asked.headers["authorization"] for asked in server.requests} <= {BASIC}


@pytest.mark.parametrize(
    "name", [name for name in CASES if name not in ("JSON of another product", "half a document")]
)
def test_a_search_gives_the_same_message(name, jaeger_at):
    """Reading one trace and searching for traces fail alike."""
    case = CASES[name]
    with serving(case.answer) as server:
        message = case.message.replace("{url}", server.url)
        assert jaeger_at(server.url, "list", "jaeger") == (3, f"failgraph: {message}\n")


def test_an_error_that_repeats_the_request_shows_no_header(jaeger_at):
    """Some proxies show the headers that they got."""
    with serving(echo(500)) as server:
        code, err = jaeger_at(server.url)
    assert code == 3
    assert "[redacted:header]" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "escaped", [json.dumps(SECRET), "".join(f"\\u{ord(char):04x}" for char in SECRET)]
)
def test_an_escaped_header_is_not_shown(escaped, jaeger_at):
    """In an error, a warning, or the reason of an incomplete trace; escaped or cut in two."""
    words = f'"{escaped.strip(chr(34))}"'.encode()
    span = b'{"traceID":"%s","spanID":"1","startTime":5,"duration":1,"warnings":["%s"]}'
    span = span % (TRACE_ID.encode(), b"trace has more than " + words.strip(b'"'))
    for answer in [
        reply(b'{"error":{"httpCode":500,"message":%s}}' % words, 500),
        reply(b'{"errors":[{"code":500,"msg":%s}]}' % words, 200),
        reply(
            b'{"data":[{"traceID":"%s","spans":[%s],"processes":{}}]}' % (TRACE_ID.encode(), span),
            200,
        ),
        reply(b'{"message":%s}' % words, 500),
        reply(b" " * (4096 - 8) + BASIC.encode(), 500, "text/plain"),
    ]:
        with serving(answer) as server:
            _, err = jaeger_at(server.url)
            assert "hunter" not in err
            assert "Basic dX" not in err


def test_no_server(jaeger_at):
    """A port on which no server listens, and a host that does not exist."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    remedy = "Start it, or set FAILGRAPH_JAEGER_URL.\n"
    message = f"cannot connect to Jaeger at {url}: connection refused. {remedy}"
    assert jaeger_at(url) == (3, f"failgraph: {message}")
    code, err = jaeger_at("https://no-such-host.invalid")
    assert code == 3
    assert err.startswith("failgraph: cannot connect to Jaeger at https://no-such-host.invalid: ")
    assert err.endswith(f". {remedy}")


def test_https_to_a_server_that_speaks_http(jaeger_at):
    """The certificate is never skipped: no TLS is an error."""
    with serving(reply(b"{}")) as server:
        url = server.url.replace("http://", "https://")
        message = (
            f"cannot connect to Jaeger at {url}: the TLS handshake failed. Check that it uses"
            " https, or set FAILGRAPH_JAEGER_URL.\n"
        )
        assert jaeger_at(url) == (3, f"failgraph: {message}")
        assert server.requests == []


@pytest.mark.needs("openssl")
def test_a_certificate_is_always_verified(jaeger_at, tmp_path, monkeypatch):
    """An untrusted one is an error that says how to name its CA, which then makes it trusted."""
    names = [
        "-keyout",
        tmp_path / "key",
        "-out",
        tmp_path / "cert",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    ask = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        *names,
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    subprocess.run(ask, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    with serving(reply(b"", 500), context) as server:
        code, err = jaeger_at(server.url)
        assert code == 3
        assert "has an untrusted certificate (self" in err
        assert "; set SSL_CERT_FILE to the file of its CA" in err
        assert server.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
        assert jaeger_at(server.url) == (
            3,
            f"failgraph: Jaeger at {server.url} returned HTTP 500\n",
        )
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "nothing"))
    assert jaeger_at(server.url) == (
        3,
        "failgraph: cannot read the file in SSL_CERT_FILE; check its path\n",
    )


@pytest.mark.parametrize("host", ["a..b", "a" * 64, "xn--zz"])
def test_an_invalid_host_name(host, setting, capsys):
    """Python raises a UnicodeError for these names, not an OSError."""
    setting("JAEGER_URL", f"http://{host}:1")
    assert main(["list", "jaeger"]) == 3
    message = f"Jaeger at http://{host}:1: invalid host name; check FAILGRAPH_JAEGER_URL"
    assert capsys.readouterr() == ("", f"failgraph: {message}\n")


def test_headers_are_not_sent_over_plain_http_to_another_machine(jaeger_at, monkeypatch):
    """No connection is made at all."""
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("connected"))
    code, err = jaeger_at("http://jaeger.example:16686")
    assert code == 3
    assert err == (
        "failgraph: FAILGRAPH_JAEGER_HEADERS is not sent to http://jaeger.example:16686, since"
        " plain http is not encrypted; use https in FAILGRAPH_JAEGER_URL\n"
    )


def test_another_server_gets_no_headers(jaeger_at):
    """A pasted URL of another server, even of another port, gets none of the headers."""
    with serving(reply(b"", 401)) as other, serving(reply(b"{}")) as configured:
        for source in (
            other.url,
            f"{other.url}/trace/{TRACE_ID}",
            f"{other.url}/api/traces/{TRACE_ID}",
        ):
            code, err = jaeger_at(configured.url, "show", source)
            assert code == 3
            assert "requires credentials (HTTP 401); set FAILGRAPH_JAEGER_HEADERS" in err
            assert "(sent only to FAILGRAPH_JAEGER_URL" in err
        assert configured.requests == []
        assert len(other.requests) == 3
        sent = {name for asked in other.requests for name in asked.headers}
        assert sent == {"host", "accept", "accept-encoding", "connection", "user-agent"}


def test_a_redirect_is_not_followed(jaeger_at):
    """The second server gets no request, with headers or without."""
    with serving(reply(b"{}")) as other, serving(reply(b"", 302, location=other.url)) as first:
        assert jaeger_at(first.url)[0] == 3
        assert other.requests == []
        assert len(first.requests) == 1


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY", "http_proxy"])
def test_loopback_is_reached_without_a_proxy(variable, jaeger_at, monkeypatch):
    """A proxy of the environment gets no request."""
    with serving(reply(b"", 500)) as proxy, serving(reply(b"here", 500, "text/plain")) as server:
        monkeypatch.setenv(variable, proxy.url)
        assert jaeger_at(server.url)[1].endswith("returned HTTP 500: here\n")
        assert proxy.requests == []


def test_other_machines_are_reached_through_the_proxy_of_the_environment(jaeger_at, monkeypatch):
    """As httpx does, unless NO_PROXY names them. No message shows the proxy's password."""
    with serving(reply(b"by proxy", 500, "text/plain")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", f"//user:{SECRET}@"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        code, err = jaeger_at(
            "http://localhost:1", "show", f"http://jaeger.example/trace/{TRACE_ID}"
        )
        assert (code, err) == (
            3,
            "failgraph: Jaeger at http://jaeger.example returned HTTP 500: by proxy\n",
        )
        assert [asked.path for asked in proxy.requests] == [f"/api/v3/traces/{TRACE_ID}"]
    monkeypatch.setenv("http_proxy", f"nonsense://user:{SECRET}@x")
    code, err = jaeger_at("http://localhost:1", "show", f"http://jaeger.example/trace/{TRACE_ID}")
    assert (code, err) == (
        3,
        "failgraph: invalid proxy; check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY\n",
    )


def test_without_httpx_the_message_says_what_to_install(jaeger_at, monkeypatch):
    """The base install reads files only."""
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    url = "http://localhost:16686"
    message = f"reading from Jaeger at {url} requires httpx: pip install 'failgraph[cli]'"
    assert jaeger_at(url) == (3, f"failgraph: {message}\n")


# --- the client alone


@pytest.fixture
def client():
    """Return a function that makes a client which sends secret headers."""
    with contextlib.ExitStack() as stack:

        def make(
            url: str, sleep: Callable[[float], None] = time.sleep, sent=SENT, **limits: float
        ) -> Client:
            location = BackendLocation(
                "Jaeger", url, URL_SETTINGS["jaeger"], HEADERS_SETTINGS["jaeger"]
            )
            return stack.enter_context(
                contextlib.closing(Client(location, sent, LIMITS._replace(**limits), sleep))
            )

        yield make


def busy(
    times: int, status: int = 429, **headers: str
) -> Callable[[ReceivedRequest, Handler], Reply]:
    left = iter(range(times))
    return lambda *_: (
        reply(b"", status, **headers)() if next(left, None) is not None else Reply(b'{"ok":1}')
    )


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_backend_is_asked_again(status, client):
    """Three times at most, after a pause that doubles."""
    for times, paused in ((0, []), (1, [1.0]), (2, [1.0, 2.0])):
        waits: list[float] = []
        with serving(busy(times, status)) as server:
            assert client(server.url, waits.append, pause=1.0).get("/x").document() == {"ok": 1}
            assert (len(server.requests), waits) == (times + 1, paused)
    with serving(busy(3, status)) as server:
        with pytest.raises(SourceError, match="is busy"):
            client(server.url).get("/x")
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("retry_after", "waited"),
    [
        ("7", [7.0]),
        (" 0 ", [0.0]),
        ("Wed, 21 Oct 2015 07:28:00 GMT", [0.0]),
        ("nonsense", [1.0]),
        ("-5", [1.0]),
        ("Wed, 99 Xyz", [1.0]),
        ("", [1.0]),
    ],
)
def test_retry_after_is_respected(retry_after, waited, client):
    """It is a number of seconds or a date, which may be in the past."""
    waits: list[float] = []
    with serving(busy(1, retry_after=retry_after)) as server:
        client(server.url, waits.append, pause=1.0).get("/x")
    assert waits == waited


@pytest.mark.parametrize("retry_after", ["3600", "9" * 400, "Fri, 21 Oct 2050 07:28:00 GMT"])
def test_a_long_pause_is_an_error_at_once(retry_after, client):
    """Longer than `max_pause`."""
    with serving(busy(1, retry_after=retry_after)) as server:
        with pytest.raises(SourceError, match="is busy"):
            client(server.url, lambda _: pytest.fail("waited")).get("/x")
        assert len(server.requests) == 1


def test_no_error_holds_a_sent_header(client):
    """Neither in its text, nor in a traceback, nor in the `repr` of the client or its location."""
    with serving(echo(500)) as server:
        asking = client(server.url)
        with pytest.raises(SourceError) as caught:
            asking.get("/x")
    shown = "".join(traceback.format_exception(caught.value)) + repr(
        (asking, asking.location, asking._http, caught.value)
    )
    assert not [secret for secret in GIVEN_AWAY if secret in shown]


def test_a_header_that_cannot_be_sent_is_not_shown(client):
    """The error of httpx would show it."""
    for value in ("hunter22Secrét", "hunter22Secret\nx: y"):
        with pytest.raises(SourceError) as caught:
            client("http://127.0.0.1:1", sent=[("authorization", value)]).get("/x")
        assert "unter22" not in "".join(traceback.format_exception(caught.value))


def test_a_small_body_cannot_fill_the_memory():
    """A gzip bomb is unpacked in small pieces, up to the limit and not further."""

    class Sizes:
        largest = 0

        def write(self, data: bytes) -> int:
            self.largest = max(self.largest, len(data))
            return len(data)

    sizes = Sizes()
    with pytest.raises(response_body.BodyTooLargeError):
        response_body.copy_body(
            [gzip.compress(b"\0" * (1 << 28))], sizes, 8 << 20, time.monotonic() + 60, is_gzip=True
        )
    assert sizes.largest <= 1 << 20


def test_gzip_in_chunks_and_members():
    """Gzip arrives in any chunks and members; if it is cut or data follows, it is damaged."""

    text = b'{"result":{}}' * 1000
    packed = gzip.compress(text)
    two = gzip.compress(text[:500]) + gzip.compress(text[500:])
    for chunks in (
        [packed],
        [packed[at : at + 1] for at in range(len(packed))],
        [two],
        [two[:90], two[90:]],
    ):
        file = io.BytesIO()
        assert response_body.copy_body(
            chunks, file, 1 << 20, time.monotonic() + 60, is_gzip=True
        ) == len(text)
        assert file.getvalue() == text
    for chunks in ([packed, b"behind"], [packed + b"behind"], [packed[:-1]], []):
        with pytest.raises(response_body.BodyDamagedError):
            response_body.copy_body(
                chunks, io.BytesIO(), 1 << 20, time.monotonic() + 60, is_gzip=True
            )


def test_a_large_response_is_in_a_file(client):
    """Only small ones are held in memory."""
    with serving(reply(b"[" + b"1," * (1 << 20) + b"1]")) as server:
        response: Response = client(server.url, max_bytes=1 << 23, total=20, read=5).get("/x")
    assert response.file._rolled
    assert len(response.document()) == (1 << 20) + 1
