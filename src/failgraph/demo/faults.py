"""Real faults on loopback: a closed port, a silent server, an HTTP 429, a killed process."""

from __future__ import annotations

import asyncio
import itertools
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

SANDBOX_LIMIT_S = 1.5  # after which a sandbox process is killed
_SANDBOX_ALARM_S = 10  # after which it ends by itself, in case the demo was killed


@asynccontextmanager
async def external_services() -> AsyncIterator[Mapping[str, str]]:
    """Start services outside of the fleet, and yield their URLs by how they behave.

    Those that answer return the body of the request.
    """
    with _bound(listening=False) as closed, _bound(listening=True) as silent:
        server = await asyncio.start_server(_Provider().answer, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        url = f"http://{host}:{port}"
        try:
            yield {
                "answers": f"{url}/200",
                "limited": f"{url}/429,429,200",
                "exhausted": f"{url}/429",
                "closed": closed,
                "silent": silent,
            }
        finally:
            server.close()


@contextmanager
def _bound(*, listening: bool) -> Iterator[str]:
    """Reserve a port and yield its URL.

    Args:
        listening: True to accept connections and never answer; False to refuse them.
    """
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        if listening:
            bound.listen()
        host, port = bound.getsockname()
        yield f"http://{host}:{port}"


class _Provider:
    """A server without tracing. The path lists the statuses of its requests.

    `/429,429,200` answers the first two requests with 429 and all others with 200.
    """

    def __init__(self) -> None:
        self._statuses: dict[bytes, Iterator[bytes]] = {}

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the only request of a connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).splitlines()
        fields = dict(line.lower().split(b": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(fields.get(b"content-length", 0)))
        path = head[0].split()[1]
        if path not in self._statuses:
            *first, last = path.strip(b"/").split(b",")
            self._statuses[path] = itertools.chain(first, itertools.repeat(last))
        status = next(self._statuses[path])
        length = b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        writer.write(b"HTTP/1.1 " + status + b" As Asked\r\n" + length + body)
        await writer.drain()
        writer.close()


async def run_in_sandbox(program: str) -> int:
    """Run a Python program in a new process. Return its exit code; -N means killed by signal N."""
    bounded = f"import signal; signal.alarm({_SANDBOX_ALARM_S})\n{program}"
    # Not asyncio's subprocesses: they lose the exit code of one that ends while it is killed.
    return await asyncio.to_thread(_run, [sys.executable, "-I", "-S", "-c", bounded])


def _run(words: list[str]) -> int:
    with subprocess.Popen(words) as process:  # noqa: S603 - the demo's own programs
        try:
            return process.wait(SANDBOX_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
