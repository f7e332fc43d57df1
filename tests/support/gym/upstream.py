"""A model's API that misbehaves on command: the message of a request says how, so that no rollout disturbs another.

`[[up:KEY:step,step]]` in a body: the n-th request of KEY plays the n-th step, the last for ever. A step is a status,
`ok`, `tool=NAME`, `drop`, `dropmid`, `hang`, `badjson` or `badschema`. Bare sockets: no framework drops a connection.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter

MARK = re.compile(rb"\[\[up:([^:\]]+):([^\]]+)\]\]")
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
    mark = MARK.search(body)
    if mark is None:
        return "ok"
    key, steps = mark[1], mark[2].decode().split(",")
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
            head_out = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nx-request-id: req-{step}\r\n"
            writer.write(f"{head_out}content-length: {size}\r\n\r\n".encode() + body)
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
