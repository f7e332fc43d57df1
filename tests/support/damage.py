"""Damage a source in its bytes or in the structure of its JSON."""

from __future__ import annotations

import contextlib
import json
import random
from typing import Any

from json_paths import json_paths

_SPLICES = [
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b"\x1b[31m",
    b"{",
    b"}",
    b"[",
    b'"',
    b"\\u",
    b"\n",
    b"9" * 5000,
    b"\x80" * 12,
]
# Put where another value belongs. The order matters: a seed chooses by it.
ODD: tuple[Any, ...] = (
    None,
    True,
    # numbers out of every range
    0,
    -1,
    2**31,
    2**63,
    -(2**63) - 1,
    2**64,
    10**4000,
    1.5,
    1e308,
    float("nan"),
    float("inf"),
    # texts that look like numbers or ids, that a terminal obeys, or that are long
    "",
    "9" * 5000,
    "1e999",
    "NaN",
    "0x10",
    "\ud800",
    "\u202eabc\u2066",
    "\x1b[2J\x1b]0;x\x07",
    "[bold red]x[/]",
    "<b>&",
    "\x00",
    "日" * 3000,
    "x" * 200_000,
    "0" * 32,
    "a",
    "b",
    "c",
    "nemo.gym.failure",
    # structures
    [],
    {},
    [[]],
    {"": {}},
    [None],
    {"values": [{"stringValue": "a"}, 5, None]},
    {"key": "nemo.gym.failure.cause.id", "value": {"stringValue": "b"}},
)
# Nested structures, each by a text that stands for it until the document is JSON: Python's encoder
# cannot write the deepest.
_NESTED = {
    f"@nest {name} {depth}": begin * depth + end * depth
    for depth in (3, 90, 900, 30_000)
    for name, begin, end in (
        ("list", b"[", b"]"),
        ("map", b'{"a":[', b"]}"),
        ("values", b'{"arrayValue":{"values":[', b"]}}"),
    )
}


def damage(data: bytes, rng: random.Random) -> bytes:
    """Return a damaged copy of a source; JSON is mostly damaged in its structure."""
    if rng.random() < 0.6:
        with contextlib.suppress(ValueError, RecursionError):
            documents = [json.loads(line) for line in data.splitlines() if line.strip()]
            if documents:
                for _ in range(rng.randint(1, 4)):
                    _damage_structure(documents, rng)
                return b"\n".join(_encode(each, rng) for each in documents)
    damaged = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        _damage_bytes(damaged, rng)
    return bytes(damaged)


def _damage_bytes(data: bytearray, rng: random.Random) -> None:
    """Replace, delete, repeat, insert or cut at a random place."""
    index = rng.randrange(len(data) + 1)
    action = rng.randrange(5)
    if action == 0:
        data[index : index + rng.randint(1, 4)] = rng.randbytes(rng.randint(0, 4))
    elif action == 1:
        del data[index : index + rng.randint(1, 64)]
    elif action == 2:
        source = rng.randrange(len(data) + 1)
        data[index:index] = data[source : source + rng.randint(1, 300)]
    elif action == 3:
        data[index:index] = rng.choice(_SPLICES)
    else:
        del data[index:]


def _damage_structure(documents: list[Any], rng: random.Random) -> None:
    """Delete, replace, repeat or move a random value."""
    paths = list(json_paths(documents))
    if not paths:
        return
    *path, last = rng.choice(paths)
    parent = _value_at(documents, path)
    action = rng.randrange(6)
    if action == 0:
        del parent[last]
    elif action in (1, 2):
        parent[last] = rng.choice(ODD)
    elif action == 3 and isinstance(parent, list):
        parent.append(_copy(parent[last]))
    elif action == 4:
        parent[last] = _copy(_value_at(documents, rng.choice(paths)))
    else:
        parent[last] = rng.choice(tuple(_NESTED))


def _value_at(document: Any, path: Any) -> Any:
    for key in path:
        document = document[key]
    return document


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _encode(value: Any, rng: random.Random) -> bytes:
    encoded = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    for name, nested in _NESTED.items():
        encoded = encoded.replace(b'"%s"' % name.encode(), nested)
    return encoded
