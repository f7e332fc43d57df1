"""Find each value inside a JSON document, to damage one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def json_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each value inside `value`: the keys and indexes on the way to it."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield (*path, key)
        yield from json_paths(item, (*path, key))
