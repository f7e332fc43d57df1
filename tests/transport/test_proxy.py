"""Behind a real nginx with default settings no reply fails because of its report."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from failgraph import NgFailureEvent
from failgraph.instrumentation import attach as attaching
from failgraph.transport.header_decoder import decode_report
from real_programs import require

fastapi = pytest.importorskip(
    "fastapi", reason="the server behind the proxy is FastAPI's, which this set lacks"
)
uvicorn = pytest.importorskip("uvicorn", reason="this set has no server")

httpx = pytest.importorskip("httpx", reason="this set has no httpx")
pytestmark = pytest.mark.needs("nginx")

CONFIG = """
daemon off; master_process off; pid nginx.pid; error_log stderr;
events {{}}
http {{
  access_log off;
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{behind}; }} }}
  server {{ listen 127.0.0.1:{naming}; location / {{
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_pass http://127.0.0.1:{behind}; }} }}
}}
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def server():
    """A server whose query says how many failures of how long a text, and how large a head."""
    attaching.attach("the test", include_global=False)
    app = fastapi.FastAPI()

    @app.get("/")
    async def route(failures: int, text: int, head: int):
        cause = None
        for number in range(failures):
            made = NgFailureEvent(
                "verifier_error", f"{number} " + os.urandom(text // 2).hex(), boundary="agent"
            )
            made.__cause__, cause = cause, made
        if cause is not None and not head:
            raise cause
        return fastapi.Response("done", headers={"x-own": "x" * head})

    running = uvicorn.Server(uvicorn.Config(app, port=free_port(), log_level="critical"))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield running.config.port
    running.should_exit = True
    thread.join()
    attaching.detach()


@pytest.fixture(scope="module")
def proxies(server, tmp_path_factory):
    """The URLs of two nginx servers: one as it comes, one that adds forwarding headers."""
    folder: Path = tmp_path_factory.mktemp("nginx")
    port, naming = free_port(), free_port()
    (folder / "nginx.conf").write_text(CONFIG.format(port=port, naming=naming, behind=server))
    process = subprocess.Popen(
        [require("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf")],
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", naming), 1):
            break
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/", f"http://127.0.0.1:{naming}/"
    process.terminate()
    process.communicate()


def ask(url: str, **query: int) -> httpx.Response:
    with httpx.Client(trust_env=False, verify=False) as client:
        return client.get(url, params=query, headers={"x-ng-failure-accept": "1"}, timeout=30)


@pytest.mark.parametrize("text", [0, 60, 2000])
@pytest.mark.parametrize("failures", [0, 1, 3, 10, 40, 300])
def test_no_reply_fails_at_any_size_of_report(proxies, failures, text):
    """The status is the application's own, and a report, complete or not, can be read."""
    response = ask(proxies[0], failures=failures, text=text, head=0)
    assert response.status_code == (500 if failures else 200)
    if failures:
        report = decode_report(response.headers["x-ng-failure-report"])
        assert report is not None
        assert report.failure_id in report.events
        assert report.omitted == (len(report.events) < failures)
    else:
        assert "x-ng-failure-report" not in response.headers


@pytest.mark.parametrize("head", [*range(100, 3900, 400), 3600, 3700])
def test_no_reply_fails_at_any_size_of_its_own_head(proxies, server, head):
    """What nginx passes without failgraph it passes with it: the report leaves enough room."""
    assert ask(proxies[0], failures=0, text=0, head=head).status_code == 200
    assert ask(proxies[0], failures=40, text=2000, head=head).status_code == 200


def test_a_proxy_that_adds_forwarding_headers_gets_no_report(proxies):
    """A forwarding header shows that the address is a proxy's. A bare proxy looks like a peer."""
    assert "x-ng-failure-report" in ask(proxies[0], failures=1, text=0, head=0).headers
    assert "x-ng-failure-report" not in ask(proxies[1], failures=1, text=0, head=0).headers


def test_the_limit_is_real(server, proxies):
    """nginx with default settings answers 502 to a head that is too large."""
    assert ask(proxies[0], failures=0, text=0, head=4200).status_code == 502
