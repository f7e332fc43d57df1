"""The processes of the fleet: started with open sockets, and stopped whatever happens."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from failgraph.settings.names import AUTO_INSTRUMENT, ENABLED

SERVERS = ("agent", "model", "environment", "resources")
COLLECTOR = "collector"

# Variables in the environment of each process.
SOCKET = "DEMO_SOCKET"  # file descriptor that a server listens on
LIFELINE = "DEMO_LIFELINE"  # file descriptor of a pipe that the demo closes when it ends
TRACES = "DEMO_TRACES"  # file for the spans
UNSENT_MARK = "DEMO_UNSENT_MARK"  # file that exists while spans are unsent; unset if none are sent

_STOP_S = 8.0  # for all processes together, after which they are killed


def url_variable(server: str) -> str:
    """Return the variable for the URL of a server."""
    return f"DEMO_{server.upper()}_URL"


def traces_file(folder: str, process: str) -> str:
    """Return the file that a process writes its spans to."""
    return os.path.join(folder, f"{process}.jsonl")


def unsent_mark(folder: str, process: str) -> str:
    """Return the file that exists while a process has unsent spans."""
    return os.path.join(folder, f"{process}.unsent")


@contextmanager
def fleet(folder: str, *, sends_traces: bool) -> Iterator[subprocess.Popen[str]]:
    """Run the processes, and yield the collector, which ends by itself.

    All ports are bound before a process starts, so that none is taken by another program and early
    requests wait for their server. Each process has one end of a pipe whose other end is here: if
    this process is killed, they notice and exit.

    Args:
        folder: Each process writes its spans to a file there.
        sends_traces: True to also send the spans to the endpoint of the environment.
    """
    processes: list[subprocess.Popen[str]] = []
    lifeline, own_end = os.pipe()
    try:
        with ExitStack() as handed_on:
            handed_on.callback(os.close, lifeline)
            sockets = {
                name: handed_on.enter_context(socket.create_server(("127.0.0.1", 0)))
                for name in SERVERS
            }
            urls = {url_variable(name): _url(server) for name, server in sockets.items()}
            for name in (*SERVERS, COLLECTOR):
                environ = {**_inherited(), **urls}
                if sends_traces:
                    environ |= _sending(folder, name)
                descriptors = {LIFELINE: lifeline}
                if name in sockets:
                    descriptors[SOCKET] = sockets[name].fileno()
                processes.append(_start(name, folder, environ, descriptors))
        yield processes[-1]
    finally:
        # First, for a process that Ctrl-C kept from getting on the list while it was started.
        os.close(own_end)
        _end(processes)


def _sending(folder: str, process: str) -> dict[str, str]:
    """Return the variables that make a process send its spans."""
    exporter = {
        name: value for name, value in os.environ.items() if name.startswith("OTEL_EXPORTER_OTLP_")
    }
    return {
        "OTEL_EXPORTER_OTLP_TIMEOUT": "5",
        **exporter,
        UNSENT_MARK: unsent_mark(folder, process),
    }


def _url(server: socket.socket) -> str:
    host, port = server.getsockname()
    return f"http://{host}:{port}"


def _start(
    name: str, folder: str, environ: Mapping[str, str], descriptors: Mapping[str, int]
) -> subprocess.Popen[str]:
    """Start one process of the fleet."""
    own = {variable: str(descriptor) for variable, descriptor in descriptors.items()}
    own |= {TRACES: traces_file(folder, name), ENABLED: "true"}
    return subprocess.Popen(  # noqa: S603 - this package's own modules
        [sys.executable, "-m", f"failgraph.demo.{name}"],
        env={**environ, **own},
        pass_fds=tuple(descriptors.values()),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if name == COLLECTOR else subprocess.DEVNULL,
        text=True,
        # Ctrl-C reaches only the demo, which then stops the others.
        start_new_session=True,
    )


def _inherited() -> dict[str, str]:
    """Return the environment without OpenTelemetry's settings: the processes set it up in code."""
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OTEL_", AUTO_INSTRUMENT))
    }
    if "PYTHONPATH" in environ:  # opentelemetry-instrument adds an entry
        entries = environ["PYTHONPATH"].split(os.pathsep)
        environ["PYTHONPATH"] = os.pathsep.join(
            entry for entry in entries if "auto_instrumentation" not in entry
        )
    return environ


def _end(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Terminate all processes, and kill those that do not end.

    The collector goes first: it would report the end of the servers as errors.
    """
    deadline = time.monotonic() + _STOP_S
    _end_all(processes[len(SERVERS) :], deadline)
    _end_all(processes[: len(SERVERS)], deadline)


def _end_all(processes: Iterable[subprocess.Popen[str]], deadline: float) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
