"""Wrong inputs for the commands: files that are not what they should be, and servers that fail."""

from __future__ import annotations

import gzip
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from builders import event
from gym_rows import attempt_row
from http_stand_in import Handler, ReceivedRequest, Reply, serving
from journals import line
from later_jaeger_stand_in import later_jaeger_stand_in
from otlp_file import TRACE, process, reported, seen, span, write
from otlp_server import Receiver
from tempo_stand_in import tempo_stand_in

Answer = Callable[[ReceivedRequest, Handler], Reply | None]

SECOND_TRACE = TRACE[:6] + "f" * 26  # the first six digits are those of TRACE
CLEAN_TRACE = "c" * 32
ROLLOUT = "nemo.gym.rollout.id"
TRACES = (
    process(
        span(
            1,
            None,
            seen(event("e1", kind="sandbox:killed", boundary="sandbox"), 5),
            attributes={**reported("e1", own="e1"), ROLLOUT: "7-0"},
        )
    ),
    process(span(2, None, seen(event("e2"), 5), start=9, trace=SECOND_TRACE)),
    process(span(3, None, trace=CLEAN_TRACE, attributes={ROLLOUT: "7-1"})),
)
CONSOLE = {
    "name": "GET /",
    "context": {"trace_id": "0x" + TRACE, "span_id": "0x" + "1" * 16, "trace_state": "[]"},
    "kind": "SpanKind.INTERNAL",
    "parent_id": None,
    "start_time": "2026-11-30T08:00:00.000000Z",
    "end_time": "2026-11-30T08:00:01.000000Z",
    "status": {"status_code": "UNSET"},
    "attributes": {},
    "events": [],
    "links": [],
    "resource": {"attributes": {"service.name": "policy"}, "schema_url": ""},
}


def write_sources(folder: Path) -> None:
    """Write one good source of each kind, and many that cannot be used."""
    write(folder / "good.jsonl", *TRACES)
    (folder / "clean.jsonl").write_bytes(json.dumps(TRACES[2]).encode() + b"\n")
    failed = attempt_row(7, 0, _ng_failure_class="timeout_exceeded", error="no answer")
    write(folder / "rows.jsonl", failed, attempt_row(7, 1, reward=1.0))
    write(folder / "rows-clean.jsonl", attempt_row(7, 1, reward=1.0))
    (folder / "journal").mkdir()
    write(folder / "journal" / "7.jsonl", line("e9"))
    (folder / "empty.jsonl").touch()
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "blank.jsonl").write_bytes(b"\n  \n\n")
    (folder / "empty-dir").mkdir()
    (folder / "other-dir").mkdir()
    (folder / "other-dir" / "notes.txt").write_text("hello\n")
    (folder / "foreign-dir").mkdir()
    (folder / "foreign-dir" / "tasks.jsonl").write_text('{"question": "1 + 1"}\n')
    (folder / "mixed-dir").mkdir()
    write(folder / "mixed-dir" / "traces.jsonl", *TRACES)
    (folder / "mixed-dir" / "tasks.jsonl").write_text('{"question": "1 + 1"}\n')
    (folder / "mixed-dir" / "cut.jsonl").write_bytes(json.dumps(TRACES[0]).encode()[:-40])
    whole = json.dumps(TRACES[0]).encode()
    (folder / "cut.jsonl").write_bytes(whole[:-40])
    (folder / "half.jsonl").write_bytes(json.dumps(TRACES[1]).encode() + b"\n" + whole[:-40])
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress(os.urandom(2000))[:-900])
    (folder / "fake.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00")
    (folder / "traces.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd\x00\x00")
    (folder / "run.log").write_text("INFO started\nINFO rollout 7-0 failed\n")
    (folder / "page.html").write_text("<!DOCTYPE html>\n<html><title>Log in</title></html>\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    (folder / "tasks.jsonl").write_text('{"question": "1 + 1"}\n{"question": "2 + 2"}\n')
    (folder / "numbers.json").write_text("[1, 2, 3]\n")
    (folder / "console.json").write_text(json.dumps(CONSOLE, indent=4))
    (folder / "logs.jsonl").write_text('{"resourceLogs": []}\n')
    (folder / "metrics.jsonl").write_text('{"resourceMetrics": []}\n')
    (folder / "no-spans.jsonl").write_text('{"resourceSpans": []}\n')
    (folder / "not-found.json").write_text('{"data": null, "errors": [{"msg": "trace not found"}]}')
    (folder / "traces.pb").write_bytes(b"\x0a\xff\xff\x03" + bytes(40))
    write(folder / "lossy.jsonl", TRACES[1], b"broken")


@contextmanager
def servers() -> Iterator[Mapping[str, str]]:
    """Run servers on loopback, good ones and bad ones, and yield their URLs by name."""
    with ExitStack() as stack:
        urls = {name: stack.enter_context(serving(answer)).url for name, answer in _ANSWERS.items()}
        urls["jaeger"] = stack.enter_context(later_jaeger_stand_in(*TRACES)).url
        urls["tempo"] = stack.enter_context(tempo_stand_in(*TRACES)).url
        urls["receiver"] = stack.enter_context(Receiver()).endpoint
        urls["refusing-receiver"] = stack.enter_context(Receiver(401)).endpoint
        urls["wrong-receiver"] = stack.enter_context(Receiver(404)).endpoint
        urls["unreachable"] = _unused_url()
        yield urls


def _unused_url() -> str:
    """Return a URL on loopback where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def _always(*reply: object, **headers: str) -> Answer:
    return lambda *_: Reply(*reply, headers=headers)  # type: ignore[arg-type]


def _raw(data: bytes, wait: float = 0.0) -> Answer:
    """Send these bytes as they are, wait, and close the connection."""

    def answer(_: ReceivedRequest, handler: Handler) -> None:
        handler.wfile.write(data)
        handler.wfile.flush()
        time.sleep(wait)
        handler.close_connection = True

    return answer


def _grafana(request: ReceivedRequest, _: Handler) -> Reply:
    if request.path == "/api/health":
        return Reply(b'{"database": "ok", "version": "12.0.0"}')
    return Reply(b'{"message": "Not found"}', 404)


_PAGE = b"<!DOCTYPE html>\n<html><title>Log in</title></html>"
_ANSWERS: Mapping[str, Answer] = {
    "page": _always(_PAGE, 200, "text/html"),
    "login": _always(_PAGE, 401, "text/html"),
    "forbidden": _always(b'{"message": "no"}', 403),
    "unknown-path": _always(b"404 page not found\n", 404, "text/plain"),
    "broken": _always(b'{"errors":[{"code":500,"msg":"disk full"}]}', 500),
    "busy": _always(b"too many outstanding requests", 429, "text/plain"),
    "redirect": _always(b"", 302, "text/plain", location="https://login.example/?next=%2Fapi"),
    "other-json": _always(b'{"hello": "world"}'),
    "cut": _raw(b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"result":'),
    "no-http": _raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "silent": _raw(b"", wait=0.3),
    "grafana": _grafana,
}
