"""A model's API that misbehaves as the message of a request says: `python upstream.py PORT`.

With `[[up:KEY:step,step]]` in the body, the n-th request of KEY gets the n-th step, later ones the
last. A step is a status, `ok`, `tool=NAME`, `drop`, `dropmid`, `hang`, `badjson` or `badschema`.
Each rollout has its own KEY, so that none disturbs another. Bare sockets are used, since no
framework lets a server drop a connection.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter

_STEPS = re.compile(rb"\[\[up:([^:\]]+):([^\]]+)\]\]")
seen: Counter[bytes] = Counter()


def answer(output: list) -> bytes:
    return json.dumps(
        {
            "id": "resp",
            "object": "response",
            "created_at": 1,
            "model": "stand-in",
            "output": output,
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
        }
    ).encode()


def message() -> bytes:
    text = {"type": "output_text", "text": "hello", "annotations": []}
    return answer(
        [
            {
                "type": "message",
                "id": "m",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        ]
    )


def call(tool: str) -> bytes:
    return answer(
        [{"type": "function_call", "id": "f", "call_id": "c", "name": tool, "arguments": "{}"}]
    )


def step_of(body: bytes) -> str:
    found = _STEPS.search(body)
    if found is None:
        return "ok"
    key, steps = found[1], found[2].decode().split(",")
    print("asked:", key.decode(), flush=True)
    seen[key] += 1
    return steps[min(seen[key], len(steps)) - 1]


def reply(step: str) -> tuple[int, bytes]:
    if step.isdigit():
        return int(step), json.dumps({"error": {"message": f"upstream says {step}"}}).encode()
    if step.startswith("tool="):
        return 200, call(step.partition("=")[2])
    return 200, {"badjson": b"{not json", "badschema": b"{}"}.get(step) or message()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
            step = step_of(await reader.readexactly(int(length[1])) if length else b"")
            if step == "drop":
                writer.transport.abort()
                return
            if step == "hang":
                await asyncio.sleep(3600)
            status, body = reply(step)
            size = len(body) + (1000 if step == "dropmid" else 0)
            lines = (
                f"HTTP/1.1 {status} X",
                "content-type: application/json",
                f"x-request-id: req-{step}",
                f"content-length: {size}",
                "\r\n",
            )
            writer.write("\r\n".join(lines).encode() + body)
            await writer.drain()
            if step == "dropmid":
                await asyncio.sleep(0.05)
                writer.transport.abort()
                return
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    async with server:
        await server.serve_forever()


asyncio.run(main())
