"""The processes of the fleet: started with sockets that are open already, and ended whatever happens."""

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

# What each process is told by variables of its environment.
SOCKET = "DEMO_SOCKET"  # the file descriptor that a server listens on
LIFELINE = "DEMO_LIFELINE"  # the file descriptor that ends when the demo does
TRACES = "DEMO_TRACES"  # the file that its spans are written to
UNSENT_MARK = "DEMO_UNSENT_MARK"  # the file that is there while spans are unsent; unset: not sent

_STOP_S = 8.0  # in which all processes together may end before they are killed


def url_variable(server: str) -> str:
    """The name of the variable that says where a server is."""
    return f"DEMO_{server.upper()}_URL"


def traces_file(folder: str, process: str) -> str:
    """The file that a process writes its spans to."""
    return os.path.join(folder, f"{process}.jsonl")


def unsent_mark(folder: str, process: str) -> str:
    """The file that is there while spans of a process have not arrived."""
    return os.path.join(folder, f"{process}.unsent")


@contextmanager
def fleet(folder: str, *, sends_traces: bool) -> Iterator[subprocess.Popen[str]]:
    """The fleet, each process with a file of its own for its spans in `folder`; gives the collector, which ends first.

    With `sends_traces` they also send them where the environment says.

    The ports are taken before anybody is told of them, so none can be taken away, and a request waits until its server
    has started. Each process holds one end of a pipe, of which this one has the other: it ends with us in any case.
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
        # First, for a process that was being started when Ctrl-C came, and is not on the list.
        os.close(own_end)
        _end(processes)


def _sending(folder: str, process: str) -> dict[str, str]:
    """What tells a process to send its spans."""
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
        # Ctrl-C reaches this process alone, which then ends the others.
        start_new_session=True,
    )


def _inherited() -> dict[str, str]:
    """The user's environment, without what would trace or configure OpenTelemetry in a program that does so itself."""
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OTEL_", AUTO_INSTRUMENT))
    }
    if "PYTHONPATH" in environ:  # `opentelemetry-instrument` works by an entry there
        entries = environ["PYTHONPATH"].split(os.pathsep)
        environ["PYTHONPATH"] = os.pathsep.join(
            entry for entry in entries if "auto_instrumentation" not in entry
        )
    return environ


def _end(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Ask all to end, and kill those that do not: the collector before the servers, whose end it would complain of."""
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
