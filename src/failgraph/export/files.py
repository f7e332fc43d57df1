"""A file of OTLP JSON lines as the target of an import: what it has already, and how more is added."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

from opentelemetry.sdk.trace.export import SpanExporter

from failgraph.errors import ConfigError, SourceError
from failgraph.export.known import keys_of_span
from failgraph.readers import spans
from failgraph.readers.source import HEAD_SIZE

_OTLP = re.compile(rb'\s*\{\s*"resource_?[sS]pans"\s*:')


class TraceFile(NamedTuple):
    """An open file of traces.

    Attributes:
        exporter: Adds to it.
        known_keys: The keys of what it has already.
    """

    exporter: SpanExporter
    known_keys: set[bytes]


@contextlib.contextmanager
def open_trace_file(path: str, inputs: Sequence[str]) -> Iterator[TraceFile]:
    """A file of traces that is added to.

    Raises ConfigError where `path` is one of `inputs` or holds something else, SourceError where it cannot be written.
    A file that was made for this and got nothing is taken away.
    """
    try:
        from opentelemetry.exporter.otlp.json.file import FileSpanExporter
    except ImportError:
        problem = "an import into a file needs OpenTelemetry's file exporter: pip install 'failgraph[cli]'"
        raise ConfigError([problem]) from None
    is_new = not os.path.exists(path)
    if not is_new:
        _check_existing(path, inputs)
    try:
        known_keys = set() if is_new else _known_keys(path)
        stream = open(path, "a+", encoding="utf-8")  # noqa: SIM115 - closed below, where that must not raise
    except OSError as error:
        raise SourceError(f"{path} cannot be written: {error.strerror or error}") from error
    try:
        _end_line(stream)
        yield TraceFile(FileSpanExporter(stream=stream), known_keys)
    finally:
        # What could not be written has been told of when it was sent, and stays in the buffer.
        with contextlib.suppress(OSError):
            stream.close()
        if is_new and not os.path.getsize(path):
            os.unlink(path)


def _check_existing(path: str, inputs: Sequence[str]) -> None:
    """Raise ConfigError where the file cannot be added to."""
    if any(os.path.samefile(path, given) for given in inputs if os.path.exists(given)):
        raise ConfigError([f"--to {path} is one of the files to import; name another"])
    if not os.path.isfile(path):
        problem = (
            f"--to {path} is no regular file; name one, or an address such as http://localhost:4317"
        )
        raise ConfigError([problem])


def _known_keys(path: str) -> set[bytes]:
    """The keys of what a file holds that is there; raises ConfigError where it holds no OTLP JSON lines."""
    with open(path, "rb") as file:
        head = file.read(HEAD_SIZE)
    if not head.strip():
        return set()
    # Not parsed: the first line may be one that a full disk cut off.
    if not _OTLP.match(head):
        raise ConfigError([f"--to {path} is there and holds no OTLP JSON lines; name a new file"])
    try:
        return {key for span in spans(path) for key in keys_of_span(span)}
    except SourceError:
        return set()  # no whole line of it, or without a span


def _end_line(stream: IO[str]) -> None:
    """Let what is added begin on a line of its own, also where a writer was killed in the middle of one."""
    raw = stream.buffer  # type: ignore[attr-defined]
    if raw.seek(0, os.SEEK_END):
        raw.seek(-1, os.SEEK_END)
        if raw.read(1) != b"\n":
            stream.write("\n")
            stream.flush()
