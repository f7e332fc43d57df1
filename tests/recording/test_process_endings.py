"""However a process ends: its failures are in the journal and, if possible, in the trace."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from builders import event
from failgraph.readers import read
from journals import files, ids
from otlp_server import Receiver
from programs import APPS, BIN, ON, environment, needs_servers

HERE = str(Path(__file__).parents[1] / "support")
LATER = {**ON, "OTEL_BSP_SCHEDULE_DELAY": "3600000"}
KILLED = 200
# Python 3.12.0 and 3.12.1 start no thread in `atexit` (gh-113964), and failgraph flushes in one.
NO_THREAD_AT_EXIT = (3, 12) <= sys.version_info < (3, 12, 2)


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_nothing_that_was_recorded(tmp_path):
    """200 processes are killed at random moments; what `record` returned for is in the journal."""
    environ = {**os.environ, "FAILGRAPH_JOURNAL": str(tmp_path), "PYTHONPATH": HERE}
    command = [sys.executable, str(APPS / "recording.py"), str(KILLED)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    recorded = json.loads(done.stdout)
    assert len(recorded) == KILLED
    assert sum(map(len, recorded)) > 5 * KILLED
    assert len(files(tmp_path)) == KILLED + 1
    kept = ids(tmp_path)
    assert len(kept) == len(set(kept))
    assert not {each for process in recorded for each in process} - set(kept)
    # One more each at most: that was written, and the process killed before it could say so.
    assert len(kept) <= sum(map(len, recorded)) + KILLED + 1
    found = [key for each in read(tmp_path).traces for key in each.failures]
    assert sorted(found) == sorted(kept)


def test_a_line_that_a_kill_has_torn_is_one_loss(tmp_path, setting):
    """Cut after any byte: earlier lines are read; the last is whole, a bad line, or absent."""
    import failgraph

    setting("JOURNAL", str(tmp_path / "whole"))
    failgraph.record(event("a"))
    failgraph.record(event("b"))
    (file,) = files(tmp_path / "whole")
    data = file.read_bytes()
    torn = tmp_path / "torn.jsonl"
    first = data.index(b"\n") + 1
    for end in range(first, len(data) + 1):
        torn.write_bytes(data[:end])
        reading = read(torn)
        both = end >= len(data) - 1
        assert [key for each in reading.traces for key in each.failures] == ["a", "b"][: 1 + both]
        assert [loss.kind for loss in reading.losses] == ["bad_line"] * (end > first and not both)


# --- what is exported when a process ends


@pytest.mark.parametrize(
    "ways",
    [
        ["returns"],
        ["exits"],
        ["raises"],
        ["terminated"],
        ["forked"],
        *(
            ["child_of", method, target]
            for method in ("fork", "spawn", "forkserver")
            for target in ("returns",)
        ),
        ["child_of", "fork", "terminated"],
        ["child_of", "spawn", "terminated"],
    ],
    ids="-".join,
)
def test_a_process_that_ends_sends_what_has_failed(receiver, ways):
    """Neither its provider nor a due batch does it; children of multiprocessing skip `atexit`."""
    if NO_THREAD_AT_EXIT and ways[0] != "child_of":
        pytest.skip("this Python starts no thread at exit (gh-113964)")
    command = [sys.executable, "ending.py", *ways]
    process = subprocess.Popen(
        command,
        env=environment(receiver, LATER),
        cwd=APPS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "failed\n"
    if ways == ["terminated"]:
        process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate("\n", timeout=60)
    assert process.returncode == (3 if ways == ["exits"] else 0), stderr
    assert "Traceback" not in stderr
    assert list(receiver.failures().values()) == [1], stderr


@pytest.mark.parametrize("way", ["returns", "handler", "finalizer", "forked", "no_thread"])
def test_what_was_only_deferred_is_recorded_at_exit(tmp_path, way):
    """It is in the journal and the trace when the process has ended, also without a processor of
    ours, and under a Python that starts no thread at exit.
    """
    environ = {**os.environ, "FAILGRAPH_JOURNAL": str(tmp_path), "PYTHONPATH": HERE}
    command = [sys.executable, str(APPS / "deferring.py"), way]
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == "exported: deferred\n"
    assert ids(tmp_path) == ["deferred"]


def test_an_exporter_that_hangs_does_not_hold_a_process_up(receiver):
    """It would hang for an hour; the process ends, and failgraph says nothing."""
    command = [sys.executable, "ending.py", "hangs"]
    done = subprocess.run(
        command,
        env=environment(receiver, LATER),
        cwd=APPS,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    of_an_old_sdk = "Timeout was exceeded in force_flush().\n"
    assert (done.stdout, done.stderr.replace(of_an_old_sdk, "")) == ("failed\n", "")


UVICORN = ["uvicorn", "ending:application", "--port", "PORT", "--log-level", "warning"]
GUNICORN = [
    "gunicorn",
    "-b",
    "127.0.0.1:PORT",
    "-w",
    "2",
    "-k",
    "uvicorn.workers.UvicornWorker",
    "ending:application",
]
SERVERS = {
    "uvicorn": UVICORN,
    "uvicorn-workers": [*UVICORN, "--workers", "2"],
    "gunicorn": GUNICORN,
}


@contextlib.contextmanager
def serving(receiver: Receiver, command: list[str], application: str):
    """A server, once it answers; it is ended by SIGTERM."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environ = environment(receiver, {**LATER, "SERVED": application})
    arguments = [str(BIN / command[0]), *(each.replace("PORT", port) for each in command[1:])]
    process = subprocess.Popen(arguments, env=environ, cwd=APPS, stderr=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{port}/", process
    finally:
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=60)
        assert "Traceback" not in stderr, stderr


def answered(url: str) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=10) as reply:
            reply.read()
            return
        time.sleep(0.05)
    raise AssertionError("the server does not answer")


@pytest.mark.slow_after(1)
@needs_servers
@pytest.mark.parametrize("application", ["starlette", "middleware"])
@pytest.mark.parametrize("server", SERVERS)
def test_a_server_that_is_terminated_sends_what_has_failed(receiver, server, application):
    """After SIGTERM each failure of 6 requests arrives once; the server skips `atexit`."""
    with serving(receiver, SERVERS[server], application) as (url, _):
        for _ in range(6):
            answered(url)
        assert not receiver.failures()
    assert len(receiver.failures()) == 6
    assert set(receiver.failures().values()) == {1}
