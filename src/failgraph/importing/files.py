"""A file of OTLP JSON lines as the target of an import: what it has already, and how more is added."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from opentelemetry.sdk.trace.export import SpanExporter

from failgraph.errors import ConfigError, SourceError
from failgraph.readers import spans

_MAX_LINE = 1 << 29
_OTLP = ("resourceSpans", "resource_spans")


@contextmanager
def file_exporter(path: str, inputs: Sequence[str]) -> Iterator[tuple[SpanExporter, set[bytes]]]:
    """An exporter that adds to the file, and the ids of the imported traces that the file has.

    Raises ConfigError where `path` is one of `inputs` or holds something else, OSError where it cannot be written. A
    file that was made for this and got nothing is taken away.
    """
    try:
        from opentelemetry.exporter.otlp.json.file import FileSpanExporter
    except ImportError:
        problem = "an import into a file needs OpenTelemetry's file exporter: pip install 'failgraph[cli]'"
        raise ConfigError([problem]) from None
    made = not os.path.exists(path)
    if not made and any(os.path.samefile(path, given) for given in inputs if os.path.exists(given)):
        raise ConfigError([f"--to {path} is one of the files to import; name another"])
    known = set() if made else _known(path)
    try:
        with open(path, "a+", encoding="utf-8") as stream:
            _end_line(stream)
            exporter = FileSpanExporter(stream=stream)
            yield exporter, known
            exporter.shutdown()
    finally:
        if made and os.path.exists(path) and not os.path.getsize(path):
            os.unlink(path)


def _known(path: str) -> set[bytes]:
    """The ids of the imported traces of a file that is there; raises ConfigError where it holds no OTLP JSON lines."""
    with open(path, "rb") as file:
        first = next((line for line in iter(lambda: file.readline(_MAX_LINE), b"") if line.strip()), b"")
    if not first:
        return set()
    try:
        document = json.loads(first)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not any(key in document for key in _OTLP):
        raise ConfigError([f"--to {path} is there and holds no OTLP JSON lines; name a new file"])
    try:
        return {bytes.fromhex(span.trace_id) for span in spans(path) if span.is_row}
    except SourceError:
        return set()  # OTLP, but of nothing


def _end_line(stream: IO[str]) -> None:
    """Let what is added begin on a line of its own, also where a writer was killed in the middle of one."""
    raw = stream.buffer  # type: ignore[attr-defined]
    if raw.seek(0, os.SEEK_END):
        raw.seek(-1, os.SEEK_END)
        if raw.read(1) != b"\n":
            stream.write("\n")
            stream.flush()
