"""Files of OTLP JSON lines as targets of an export."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

from opentelemetry.sdk.trace.export import SpanExporter

from failgraph.errors import ConfigError, SourceError, reason_of
from failgraph.export.known import keys_of_span
from failgraph.export.otlp_documents import span_key
from failgraph.export.span_inputs import SpanFile
from failgraph.readers import spans
from failgraph.readers.source import HEAD_SIZE, SourceFile
from failgraph.redaction.display import display

_OTLP = re.compile(rb'\s*\{\s*"resource_?[sS]pans"\s*:')


class TraceFile(NamedTuple):
    """An open file of traces.

    Attributes:
        exporter: Appends spans to it.
        stream: What the exporter writes to.
        known_keys: The keys of the attempts and failures that it has.
    """

    exporter: SpanExporter
    stream: IO[str]
    known_keys: set[bytes]


@contextlib.contextmanager
def open_trace_file(path: str, inputs: Sequence[str]) -> Iterator[TraceFile]:
    """Open a file for appending, or create it. A new file that gets no span is removed.

    Args:
        path: The file.
        inputs: The files to export, which must not include it.

    Raises:
        ConfigError: The file is one of `inputs` or has something other than OTLP JSON lines, or
            OpenTelemetry's file exporter is not installed.
        SourceError: The file cannot be written.
    """
    try:
        from opentelemetry.exporter.otlp.json.file import FileSpanExporter
    except ImportError:
        problem = "-o FILE needs OpenTelemetry's file exporter. Run: pip install 'failgraph[cli]'"
        raise ConfigError([problem]) from None
    is_new = not os.path.exists(path)
    if not is_new:
        _check_existing(path, inputs)
    try:
        known_keys = set() if is_new else _known_keys(path)
        stream = open(path, "a+", encoding="utf-8")  # noqa: SIM115 - closed below, where that must not raise
    except OSError as error:
        raise SourceError(f"cannot write {path}: {reason_of(error)}") from error
    try:
        _end_line(stream)
        yield TraceFile(FileSpanExporter(stream=stream), stream, known_keys)
    finally:
        # Closing flushes what a full disk did not take; `ExportTarget.send` has reported that.
        with contextlib.suppress(OSError):
            stream.close()
        if is_new and not os.path.getsize(path):
            os.unlink(path)


def span_keys(path: str) -> set[bytes]:
    """Return the keys of all spans that a file of OTLP JSON lines has."""
    with open(path, "rb") as file:
        groups = SpanFile(SourceFile(path, file), b"").groups(file)
        return {span_key(group.resource, span) for group in groups for span in group.spans}


def _check_existing(path: str, inputs: Sequence[str]) -> None:
    """Raise ConfigError if the file must not be appended to."""
    if any(os.path.samefile(path, given) for given in inputs if os.path.exists(given)):
        raise ConfigError([f"-o {display(path)} is also a source. Give another file."])
    if not os.path.isfile(path):
        problem = (
            f"-o {display(path)} is not a regular file."
            " Give a file, or an endpoint such as http://localhost:4317."
        )
        raise ConfigError([problem])


def _known_keys(path: str) -> set[bytes]:
    """Return the keys of an existing file. Raise ConfigError if it has no OTLP JSON lines."""
    with open(path, "rb") as file:
        head = file.read(HEAD_SIZE)
    if not head.strip():
        return set()
    # The first line is not parsed: a full disk may have cut it off.
    if not _OTLP.match(head):
        raise ConfigError(
            [f"-o {display(path)} exists and does not have OTLP JSON lines. Give a new file."]
        )
    try:
        return {key for span in spans(path) for key in keys_of_span(span)}
    except SourceError:
        return set()  # not one complete line, or no span


def _end_line(stream: IO[str]) -> None:
    """End the last line, which a killed writer may have left unfinished."""
    raw = stream.buffer  # type: ignore[attr-defined]
    if raw.seek(0, os.SEEK_END):
        raw.seek(-1, os.SEEK_END)
        if raw.read(1) != b"\n":
            stream.write("\n")
            stream.flush()
