"""A file as JSON documents: one a line, or one in all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from failgraph.errors import SourceError
from failgraph.losses import Loss

_MAX_BAD_LINES = 20
"""Broken lines that are named one by one; the rest are counted in one loss."""
_MAGIC = {b"\x1f\x8b": "gzip data", b"\x28\xb5\x2f\xfd": "zstandard data", b"PK\x03\x04": "a zip archive"}
_SIGNALS = {"resourceLogs": "logs", "resourceMetrics": "metrics", "resourceProfiles": "profiles"}


@dataclass(slots=True)
class Found:
    """What a file turned out to hold; for the message where that is no trace."""

    spans: int = 0
    documents: int = 0
    bad_lines: int = 0
    signals: frozenset[str] = frozenset()
    magic: str | None = None

    def see(self, document: object) -> None:
        """Count a JSON document."""
        self.documents += 1
        if isinstance(document, dict):
            self.signals |= {name for key, name in _SIGNALS.items() if key in document}

    def instead(self) -> str:
        """What it holds instead, in a sentence."""
        if self.magic is not None:
            return f"it is {self.magic}; give OTLP JSON"
        if not self.documents and not self.bad_lines:
            return "it is empty"
        if not self.documents:
            return f"none of its {self.bad_lines} lines is JSON; give OTLP JSON, one object a line or one in all"
        bad = f" and {self.bad_lines} lines that are no JSON" if self.bad_lines else ""
        what = " and ".join(sorted(self.signals))
        return f"it holds {self.documents} JSON documents{f' with {what}' if what else ' of another kind'}{bad}"


def documents(source: str | os.PathLike[str], found: Found, losses: list[Loss]) -> Iterator[tuple[int, object]]:
    """Each JSON document of the file, with the number of its first line; broken lines go into `losses`."""
    try:
        file = open(source, "rb")  # noqa: SIM115 - only the opening is tried here
    except OSError as error:
        raise SourceError(f"{os.fspath(source)} cannot be read: {error.strerror}") from error
    with file:
        try:
            found.magic = next((what for magic, what in _MAGIC.items() if file.peek(4).startswith(magic)), None)
            if found.magic is None:
                yield from _one(file, found) or _lines(file, found, losses)
        except OSError as error:
            raise SourceError(f"{os.fspath(source)} cannot be read: {error.strerror}") from error


def _one(file: BinaryIO, found: Found) -> list[tuple[int, object]] | None:
    """The whole file as one document where its first line alone is none; else None, with the file at its beginning."""
    first = next((line for line in file if line.strip()), b"")
    document = _parsed(first)
    if document is None and first:
        file.seek(0)
        document = _parsed(file.read())
        if document is not None:
            found.see(document)
            return [(1, document)]
    file.seek(0)
    return None


def _lines(file: BinaryIO, found: Found, losses: list[Loss]) -> Iterator[tuple[int, object]]:
    unnamed = 0
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        document = _parsed(line)
        if document is not None:
            found.see(document)
            yield number, document
            continue
        found.bad_lines += 1
        if found.bad_lines <= _MAX_BAD_LINES:
            losses.append(Loss("bad_line", f"line {number} is no JSON"))
        else:
            unnamed += 1
    if unnamed:
        losses.append(Loss("bad_line", f"{unnamed} more lines are no JSON"))


def _parsed(text: bytes) -> object | None:
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed
