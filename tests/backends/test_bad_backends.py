"""A backend that is down, slow, closed, busy, elsewhere or something else: one line that says what to do, no secret."""

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

pytest.importorskip("httpx", reason="backends are asked with httpx, which this set lacks")

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
    """Bytes as they are, and then nothing more."""

    def answer(_: ReceivedRequest, handler: Handler) -> None:
        handler.wfile.write(text)
        handler.wfile.flush()
        time.sleep(wait)
        handler.close_connection = True

    return answer


def drip(_: ReceivedRequest, handler: Handler) -> None:
    """One byte after the other, without an end."""
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
    """An error that shows what was sent, as some proxies do."""
    return lambda asked, _: Reply(
        f"boom {asked.headers} user:{SECRET} \x1b[31m".encode(), status, "text/plain"
    )


class Case(NamedTuple):
    """What it does, and the line that comes of it; `{at}` is its address."""

    answer: Callable[[ReceivedRequest, Handler], Reply | None]
    line: str


CASES = {
    "silent": Case(
        raw(b"", wait=0.5), "does not answer in time; ask again, or for less (--limit, --since)"
    ),
    "slow": Case(drip, "does not answer in time; ask again, or for less (--limit, --since)"),
    "hangs up": Case(raw(b""), "breaks off its answer, or does not speak HTTP; ask again"),
    "no HTTP": Case(
        raw(b"SSH-2.0-OpenSSH_9.6\r\n"), "breaks off its answer, or does not speak HTTP; ask again"
    ),
    "truncated": Case(
        raw(b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"result":'),
        "breaks off its answer, or does not speak HTTP; ask again",
    ),
    "truncated chunks": Case(
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"),
        "breaks off its answer, or does not speak HTTP; ask again",
    ),
    "truncated gzip": Case(
        reply(gzip.compress(b'{"result":{}}' * 50)[:-9], content_encoding="gzip"),
        "breaks off its answer, or does not speak HTTP; ask again",
    ),
    "gzip that is none": Case(
        reply(b"{}", content_encoding="gzip"),
        "breaks off its answer, or does not speak HTTP; ask again",
    ),
    "zstd": Case(
        reply(b"\x28\xb5\x2f\xfd", content_encoding="zstd"),
        "packs its answers in a way that it was not asked for; a proxy may do that",
    ),
    "large": Case(
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 314572800\r\n\r\n"),
        "answered with more than 1 MB, which is not taken in; save it with another program and read the file: failgraph"
        " show FILE",
    ),
    "large, without a length": Case(
        raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * (1 << 21)),
        "answered with more than 1 MB, which is not taken in; save it with another program and read the file: failgraph"
        " show FILE",
    ),
    "a gzip bomb": Case(
        reply(gzip.compress(b"[" * (1 << 26)), content_encoding="gzip"),
        "answered with more than 1 MB, which is not taken in; save it with another program and read the file: failgraph"
        " show FILE",
    ),
    "401": Case(
        echo(401),
        "does not let us in (401); set FAILGRAPH_JAEGER_HEADERS (what it holds is not enough)",
    ),
    "403": Case(
        echo(403),
        "does not let us in (403); set FAILGRAPH_JAEGER_HEADERS (what it holds is not enough)",
    ),
    "400": Case(
        reply(b'{"error":{"httpCode":400,"message":"malformed"}}', 400),
        "answered 400: 400 malformed",
    ),
    "500": Case(
        reply(b'{"errors":[{"code":500,"msg":"disk \\u001b[31mfull"}]}', 500),
        r"answered 500: 500 disk \x1b[31mfull",
    ),
    "500 in words": Case(
        reply(b"upstream\n connect\terror", 500, "text/plain"),
        "answered 500: upstream connect error",
    ),
    "500 in Grafana's": Case(
        reply(b'{"message":"no data source"}', 500), "answered 500: no data source"
    ),
    "500, a page": Case(reply(b"<html>oh no</html>", 502, "text/html"), "answered 502"),
    "500, nothing": Case(reply(b"", 504), "answered 504"),
    "500, endless": Case(
        raw(b"HTTP/1.1 500 X\r\n\r\n" + b"word " * 9000), f"answered 500: {'word ' * 39}word…"
    ),
    "422": Case(
        reply(b"trace exceeds max size", 422, "text/plain"),
        "does not give so much at once (422): trace exceeds max size; raise max_bytes_per_trace in its overrides",
    ),
    "429": Case(
        reply(b"slow down", 429, "text/plain"),
        "is busy (429) and stayed so: slow down; ask again later",
    ),
    "503": Case(reply(b"", 503, retry_after="0"), "is busy (503) and stayed so; ask again later"),
    "429, tomorrow": Case(
        reply(b"", 429, retry_after="86400"), "is busy (429) and stayed so; ask again later"
    ),
    "a redirect": Case(
        reply(b"", 302, location=f"https://user:{SECRET}@sso.example/login?token={SECRET}"),
        "points elsewhere (302, to https://sso.example/login), which is not followed; set FAILGRAPH_JAEGER_URL to the"
        " address that answers by itself, and FAILGRAPH_JAEGER_HEADERS where it asks for a login",
    ),
    "a redirect here": Case(
        reply(b"", 307, location="/login"),
        "points elsewhere (307, to /login), which is not followed; set FAILGRAPH_JAEGER_URL to the address that answers"
        " by itself, and FAILGRAPH_JAEGER_HEADERS where it asks for a login",
    ),
    "a redirect to nowhere": Case(
        reply(b"", 301),
        "points elsewhere (301, to nowhere), which is not followed; set FAILGRAPH_JAEGER_URL to the address that"
        " answers by itself, and FAILGRAPH_JAEGER_HEADERS where it asks for a login",
    ),
    "login page": Case(
        reply(b"\n<!DOCTYPE html><title>Sign in</title>", 200, "text/html"),
        "answered with a page for people, perhaps a login; set FAILGRAPH_JAEGER_URL to where its API is, with the path"
        " before /api, and FAILGRAPH_JAEGER_HEADERS where it asks for a login",
    ),
    "nothing there": Case(
        reply(b"404 page not found\n", 404, "text/plain"),
        "does not know what it is asked for (404); set FAILGRAPH_JAEGER_URL to where its API is, with the path before"
        " /api",
    ),
    "words": Case(
        reply(b"hello", 200, "text/plain"),
        "answered with something that is not Jaeger's; set FAILGRAPH_JAEGER_URL to where its API is, with the path"
        " before /api",
    ),
    "JSON of another product": Case(
        reply(b'{"took":3,"hits":[]}'),
        "contains no trace: only 1 JSON document in an unknown format; FAILGRAPH_JAEGER_URL says where the API is, with the"
        " path before /api",
    ),
    "half a document": Case(
        raw(b'HTTP/1.1 200 OK\r\n\r\n{"result":{"resourceSpans":['),
        "contains no trace: line 1 is not valid JSON; it may be cut, still being written, or in another format;"
        " FAILGRAPH_JAEGER_URL says where the API is, with the path before /api",
    ),
}


@pytest.fixture
def jaeger_at(setting, monkeypatch, capsys):
    """Run `show jaeger TRACE_ID` against an address, with secrets to send; the exit code and what it says."""
    monkeypatch.setattr(client_module, "DEFAULT_LIMITS", LIMITS)

    def run(url: str, *command: str) -> tuple[int, str]:
        setting("JAEGER_URL", url)
        setting(
            "JAEGER_HEADERS",
            f"authorization={BASIC.replace(' ', '%20').replace('=', '%3D')},x-scope-orgid=tenantSecret7",
        )
        code = main([*(command or ("show", "jaeger", TRACE_ID))])
        out, err = capsys.readouterr()
        assert out == ""
        assert not [secret for secret in GIVEN_AWAY if secret in err]
        return code, err

    return run


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_said_in_one_line(name, jaeger_at):
    """With what to do, without a secret that was sent, and with exit code 3."""
    case = CASES[name]
    with serving(case.answer) as server:
        code, err = jaeger_at(server.url)
        assert (code, err) == (3, f"failgraph: Jaeger at {server.url} {case.line}\n")
        assert {asked.headers["authorization"] for asked in server.requests} <= {BASIC}


@pytest.mark.parametrize(
    "name", [name for name in CASES if name not in ("JSON of another product", "half a document")]
)
def test_a_search_says_the_same(name, jaeger_at):
    """Whatever is asked for."""
    with serving(CASES[name].answer) as server:
        code, err = jaeger_at(server.url, "list", "jaeger")
        assert (code, err) == (3, f"failgraph: Jaeger at {server.url} {CASES[name].line}\n")


def test_what_is_told_of_errors_holds_nothing_that_was_sent(jaeger_at):
    """An error page that repeats the request."""
    with serving(echo(500)) as server:
        code, err = jaeger_at(server.url)
    assert code == 3
    assert "[redacted:header]" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "escaped", [json.dumps(SECRET), "".join(f"\\u{ord(char):04x}" for char in SECRET)]
)
def test_no_way_to_write_it_gets_it_through(escaped, jaeger_at):
    """In an error, in a warning of an answer, in what says that a trace is a part; whole, escaped or cut in two."""
    words = f'"{escaped.strip(chr(34))}"'.encode()
    span = b'{"traceID":"%s","spanID":"1","startTime":5,"duration":1,"warnings":["trace has more than %s"]}'
    span = span % (TRACE_ID.encode(), words.strip(b'"'))
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


def test_nobody_there(jaeger_at):
    """A port that nobody listens on, and a name that is none."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        at = f"http://127.0.0.1:{free.getsockname()[1]}"
    said = "is it running? FAILGRAPH_JAEGER_URL says where\n"
    assert jaeger_at(at) == (
        3,
        f"failgraph: Jaeger at {at} cannot be reached (Connection refused); {said}",
    )
    code, err = jaeger_at("https://no-such-host.invalid")
    assert code == 3
    assert err.startswith("failgraph: Jaeger at https://no-such-host.invalid cannot be reached (")
    assert err.endswith(said)


def test_https_where_http_is_spoken(jaeger_at):
    """The certificate is never skipped: no TLS is an error."""
    with serving(reply(b"{}")) as server:
        at = server.url.replace("http://", "https://")
        said = "it does not speak TLS, as https asks for); is it running? FAILGRAPH_JAEGER_URL says where"
        assert jaeger_at(at) == (3, f"failgraph: Jaeger at {at} cannot be reached ({said}\n")
        assert server.requests == []


@pytest.mark.needs("openssl")
def test_a_certificate_is_always_verified(jaeger_at, tmp_path, monkeypatch):
    """One that nobody vouches for is an error that says how to name its CA; with that the answer is read."""
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
        assert "has a certificate that is not trusted (self" in err
        assert "name its CA's file in SSL_CERT_FILE" in err
        assert server.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
        assert jaeger_at(server.url) == (3, f"failgraph: Jaeger at {server.url} answered 500\n")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "nothing"))
    assert jaeger_at(server.url) == (
        3,
        "failgraph: the file that SSL_CERT_FILE names cannot be read\n",
    )


@pytest.mark.parametrize("host", ["a..b", "a" * 64, "xn--zz"])
def test_a_name_that_no_machine_can_have_is_said(host, setting, capsys):
    """One line, as for everything else; what Python raises for such a name is no OSError."""
    setting("JAEGER_URL", f"http://{host}:1")
    assert main(["list", "jaeger"]) == 3
    said = f"failgraph: Jaeger at http://{host}:1 has a name that no machine can have; mend FAILGRAPH_JAEGER_URL\n"
    assert capsys.readouterr() == ("", said)


def test_nothing_is_asked_in_the_clear_off_loopback(jaeger_at, monkeypatch):
    """With something to send along, plain http to another machine is refused before any connection."""
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("connected"))
    code, err = jaeger_at("http://jaeger.example:16686")
    assert code == 3
    assert err == (
        "failgraph: FAILGRAPH_JAEGER_HEADERS is not sent to http://jaeger.example:16686: over plain http everybody on"
        " the way could read it; use https in FAILGRAPH_JAEGER_URL\n"
    )


def test_nothing_is_sent_to_another_place(jaeger_at):
    """A pasted address of another server, even of another port, gets none of the headers."""
    with serving(reply(b"", 401)) as other, serving(reply(b"{}")) as configured:
        for source in (
            other.url,
            f"{other.url}/trace/{TRACE_ID}",
            f"{other.url}/api/traces/{TRACE_ID}",
        ):
            code, err = jaeger_at(configured.url, "show", source)
            assert code == 3
            assert "does not let us in (401)" in err
            assert "only)" in err
        assert configured.requests == []
        assert len(other.requests) == 3
        sent = {name for asked in other.requests for name in asked.headers}
        assert sent == {"host", "accept", "accept-encoding", "connection", "user-agent"}


def test_a_redirect_is_not_followed(jaeger_at):
    """Neither with what was given for the first place nor without."""
    with serving(reply(b"{}")) as other, serving(reply(b"", 302, location=other.url)) as first:
        assert jaeger_at(first.url)[0] == 3
        assert other.requests == []
        assert len(first.requests) == 1


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY", "http_proxy"])
def test_loopback_is_asked_without_a_proxy(variable, jaeger_at, monkeypatch):
    """Whatever the environment says."""
    with serving(reply(b"", 500)) as proxy, serving(reply(b"here", 500, "text/plain")) as server:
        monkeypatch.setenv(variable, proxy.url)
        assert jaeger_at(server.url)[1].endswith("answered 500: here\n")
        assert proxy.requests == []


def test_other_machines_are_asked_by_the_proxy_of_the_environment(jaeger_at, monkeypatch):
    """As httpx does, unless NO_PROXY names them; without a word of the proxy's password."""
    with serving(reply(b"by proxy", 500, "text/plain")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", f"//user:{SECRET}@"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        code, err = jaeger_at(
            "http://localhost:1", "show", f"http://jaeger.example/trace/{TRACE_ID}"
        )
        assert (code, err) == (
            3,
            "failgraph: Jaeger at http://jaeger.example answered 500: by proxy\n",
        )
        assert [asked.path for asked in proxy.requests] == [f"/api/v3/traces/{TRACE_ID}"]
    monkeypatch.setenv("http_proxy", f"nonsense://user:{SECRET}@x")
    code, err = jaeger_at("http://localhost:1", "show", f"http://jaeger.example/trace/{TRACE_ID}")
    assert (code, err) == (
        3,
        "failgraph: the proxy of the environment (HTTPS_PROXY, ALL_PROXY) cannot be used\n",
    )


def test_without_httpx_it_says_what_to_install(jaeger_at, monkeypatch):
    """The base install reads files only."""
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    said = "asking Jaeger at http://localhost:16686 needs httpx: pip install 'failgraph[cli]'"
    assert jaeger_at("http://localhost:16686") == (3, f"failgraph: {said}\n")


# --- the client alone


@pytest.fixture
def client():
    """Make a client that sends secrets along."""
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
    ("said", "waited"),
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
def test_a_backend_is_asked_again_when_it_says(said, waited, client):
    """In seconds or as a date, which may have gone by."""
    waits: list[float] = []
    with serving(busy(1, retry_after=said)) as server:
        client(server.url, waits.append, pause=1.0).get("/x")
    assert waits == waited


@pytest.mark.parametrize("said", ["3600", "9" * 400, "Fri, 21 Oct 2050 07:28:00 GMT"])
def test_a_long_pause_is_not_waited_for(said, client):
    """It is told at once."""
    with serving(busy(1, retry_after=said)) as server:
        with pytest.raises(SourceError, match="is busy"):
            client(server.url, lambda _: pytest.fail("waited")).get("/x")
        assert len(server.requests) == 1


def test_no_error_holds_what_is_sent_anywhere(client):
    """Neither in its text nor in what a traceback would show of it, of the client or of its place."""
    with serving(echo(500)) as server:
        asking = client(server.url)
        with pytest.raises(SourceError) as caught:
            asking.get("/x")
    shown = "".join(traceback.format_exception(caught.value)) + repr(
        (asking, asking.location, asking._http, caught.value)
    )
    assert not [secret for secret in GIVEN_AWAY if secret in shown]


def test_a_header_that_cannot_be_sent_is_not_shown(client):
    """httpx would show it."""
    for value in ("hunter22Secrét", "hunter22Secret\nx: y"):
        with pytest.raises(SourceError) as caught:
            client("http://127.0.0.1:1", sent=[("authorization", value)]).get("/x")
        assert "unter22" not in "".join(traceback.format_exception(caught.value))


def test_a_small_body_cannot_fill_the_memory():
    """A gzip bomb is unpacked a little at a time, up to the bound and not further."""

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


def test_an_answer_of_several_gzip_chunks_is_whole():
    """Byte by byte, and of two members; what is cut, or is followed by something else, is damaged."""

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


def test_a_large_answer_is_in_a_file(client):
    """Only small ones are held in memory."""
    with serving(reply(b"[" + b"1," * (1 << 20) + b"1]")) as server:
        response: Response = client(server.url, max_bytes=1 << 23, total=20, read=5).get("/x")
    assert response.file._rolled
    assert len(response.document()) == (1 << 20) + 1
