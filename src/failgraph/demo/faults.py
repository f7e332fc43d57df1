"""Faults that really happen, all on loopback: a closed port, a server that never answers, a killed process."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SANDBOX_LIMIT_S = 0.5
"""How long a sandbox process may run before it is killed."""


@contextmanager
def silent_server() -> Iterator[str]:
    """The URL of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def closed_port_url() -> str:
    """The URL of a port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


async def run_in_sandbox(program: str) -> int:
    """Run a Python program in a process of its own; its exit code, negative for the signal that killed it."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", program)
    try:
        return await asyncio.wait_for(process.wait(), SANDBOX_LIMIT_S)
    except (TimeoutError, asyncio.TimeoutError):
        process.kill()
        return await process.wait()
