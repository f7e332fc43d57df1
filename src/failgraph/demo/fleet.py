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

SOCKET = "DEMO_SOCKET"
"""The file descriptor that a server listens on."""
LIFELINE = "DEMO_LIFELINE"
"""The file descriptor that ends when the demo does."""
TRACES = "DEMO_TRACES"
"""The file that a process writes its spans to."""

EXPORT = "DEMO_EXPORT"
"""The file that a process notes what it could not export in; set where the traces go to an endpoint."""

_STOP_S = 8.0
"""How long the processes may take to end, all together, before they are killed."""


def url_variable(server: str) -> str:
    """The name of the variable that says where a server is."""
    return f"DEMO_{server.upper()}_URL"


@contextmanager
def fleet(folder: str, *, exports: bool) -> Iterator[subprocess.Popen[str]]:
    """The fleet, each process with a file of its own for its spans in `folder`; gives the collector, which ends first.

    With `exports` they also send them where the environment says.

    The ports are taken before anybody is told of them, so none can be taken away, and a request waits until its server
    has started. Each process holds one end of a pipe, of which this one has the other: it ends with us in any case.
    """
    processes: list[subprocess.Popen[str]] = []
    lifeline, ours = os.pipe()
    try:
        with ExitStack() as handed_on:
            handed_on.callback(os.close, lifeline)
            listeners = {
                name: handed_on.enter_context(socket.create_server(("127.0.0.1", 0)))
                for name in SERVERS
            }
            known = {url_variable(name): _url(listener) for name, listener in listeners.items()}
            for name in (*SERVERS, COLLECTOR):
                listener = listeners.get(name)
                fds = {
                    LIFELINE: lifeline,
                    **({} if listener is None else {SOCKET: listener.fileno()}),
                }
                processes.append(
                    _start(name, folder, {**known, **_export(folder, name, exports)}, fds)
                )
        yield processes[-1]
    finally:
        # First, for a process that was being started when Ctrl-C came, and is not on the list.
        os.close(ours)
        _end(processes)


def _export(folder: str, name: str, exports: bool) -> dict[str, str]:
    """What tells a process to export."""
    if not exports:
        return {}
    own = {key: value for key, value in os.environ.items() if key.startswith("OTEL_EXPORTER_OTLP_")}
    return {
        "OTEL_EXPORTER_OTLP_TIMEOUT": "5",
        **own,
        EXPORT: os.path.join(folder, f"{name}.refused"),
    }


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()
    return f"http://{host}:{port}"


def _start(
    name: str, folder: str, known: Mapping[str, str], fds: Mapping[str, int]
) -> subprocess.Popen[str]:
    """Start one process of the fleet."""
    environ = {**_inherited(), **known}
    environ.update((key, str(fd)) for key, fd in fds.items())
    environ.update({TRACES: os.path.join(folder, f"{name}.jsonl"), ENABLED: "true"})
    return subprocess.Popen(  # noqa: S603 - this package's own modules
        [sys.executable, "-m", f"failgraph.demo.{name}"],
        env=environ,
        pass_fds=tuple(fds.values()),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if name == COLLECTOR else subprocess.DEVNULL,
        text=True,
        # Ctrl-C reaches this process alone, which then ends the others.
        start_new_session=True,
    )


def _inherited() -> dict[str, str]:
    """The user's environment, without what would trace or configure OpenTelemetry in a program that does so itself."""
    environ = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("OTEL_", AUTO_INSTRUMENT))
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
