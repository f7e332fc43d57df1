"""Where exported traces go: a file or an OTLP endpoint."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from failgraph.errors import ConfigError, reason_of
from failgraph.export.captured_log import captured_log
from failgraph.export.endpoints import endpoint_exporter
from failgraph.export.failure_reasons import endpoint_failure
from failgraph.export.files import open_trace_file, span_keys
from failgraph.export.otlp_documents import Fields
from failgraph.otlp import exporter_message
from failgraph.redaction.display import display

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_HOST_AND_PORT = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}(?:/.*)?")
_MAX_REASON = 300  # characters


@dataclass(slots=True)
class ExportTarget:
    """An open target.

    Attributes:
        name: The file or endpoint, safe to show.
        exporter: Writes or sends spans.
        log: What OpenTelemetry has logged since the target was opened.
        known_keys: The keys of the spans that it has. Empty for an endpoint, which cannot tell.
        path: The name of the file, or None for an endpoint.
        stream: The open file, or None for an endpoint.
        url: The URL of an endpoint, or None for a file.
    """

    name: str
    exporter: SpanExporter
    log: Sequence[logging.LogRecord]
    known_keys: set[bytes] = field(default_factory=set)
    path: str | None = None
    stream: IO[str] | None = None
    url: str | None = None
    _raised: str | None = None
    _known_spans: set[bytes] | None = None

    @property
    def is_file(self) -> bool:
        """True for a file, False for an endpoint."""
        return self.path is not None

    def known_spans(self) -> set[bytes]:
        """Return the keys of the spans that are there already. A file is read for it once."""
        if self._known_spans is None:
            self._known_spans = set() if self.path is None else span_keys(self.path)
        return self._known_spans

    def send(self, batch: Sequence[ReadableSpan]) -> bool:
        """Export a batch. Return True if the target took it."""
        try:
            return self.exporter.export(batch) is SpanExportResult.SUCCESS
        except Exception as error:  # noqa: BLE001 - an exporter may raise whatever its transport does
            self._raised = f"{type(error).__name__}: {error}"
            return False

    def write(self, document: Fields) -> bool:
        """Append a document to the file. Return True if it was written."""
        if self.stream is None:
            raise TypeError("an endpoint takes spans, not documents")
        try:
            self.stream.write(json.dumps(document, separators=(",", ":")) + "\n")
            self.stream.flush()
        except OSError as error:
            self._raised = reason_of(error)
            return False
        return True

    def failure_reason(self) -> str:
        """Return why the last batch was not taken, safe to show."""
        reason = self._raised
        if reason is None:
            reason = self.log[-1].getMessage() if self.log else "the exporter gave no reason"
        if self.url is not None:
            return endpoint_failure(self.url, reason, os.environ)
        return exporter_message(reason, os.environ, _MAX_REASON)


@contextmanager
def open_target(
    output: str, inputs: Sequence[str], environ: Mapping[str, str]
) -> Iterator[ExportTarget]:
    """Open the target that `-o` names.

    Args:
        output: The URL of an endpoint, or the name of a file.
        inputs: The files to export, which must not include the target.
        environ: Picks the protocol of an endpoint, and nothing else: OpenTelemetry's exporter
            reads the other variables of this process.

    Raises:
        ConfigError: `output` is neither an endpoint nor a file that can be appended to.
        SourceError: The file cannot be written.
    """
    with captured_log() as log:
        if _URL.match(output):
            exporter = endpoint_exporter(output, environ)
            try:
                yield ExportTarget(display(output), exporter, log, url=output)
            finally:
                exporter.shutdown()
            return
        _check_file_name(output)
        with open_trace_file(output, inputs) as file:
            yield ExportTarget(
                display(output), file.exporter, log, file.known_keys, output, file.stream
            )


def _check_file_name(output: str) -> None:
    """Raise ConfigError if `output` looks like something other than a file."""
    if output == "-":
        raise ConfigError(
            ["-o - is not supported: the summary goes to standard output. Give a file."]
        )
    if output.lower().endswith(".parquet"):
        raise ConfigError(
            [f"-o {display(output)}: Parquet cannot be written. Give a name such as traces.jsonl."]
        )
    if _HOST_AND_PORT.fullmatch(output) and not os.path.exists(output):
        name = display(output)
        raise ConfigError([f"-o {name} is neither a file nor a URL. Did you mean http://{name}?"])
