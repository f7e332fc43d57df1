"""Where imported traces go: a file or an OTLP endpoint."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from failgraph.errors import ConfigError
from failgraph.export.captured_log import captured_log
from failgraph.export.endpoints import endpoint_exporter
from failgraph.export.files import open_trace_file
from failgraph.otlp import HTTP, PROTOCOLS, exporter_message
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
        known_keys: The keys of the attempts and failures that it has. Empty for an endpoint.
        is_file: True for a file, False for an endpoint.
    """

    name: str
    exporter: SpanExporter
    log: Sequence[logging.LogRecord]
    known_keys: set[bytes] = field(default_factory=set)
    is_file: bool = False
    _raised: str | None = None

    def send(self, batch: Sequence[ReadableSpan]) -> bool:
        """Export a batch. Return True if the target took it."""
        try:
            return self.exporter.export(batch) is SpanExportResult.SUCCESS
        except Exception as error:  # noqa: BLE001 - an exporter may raise whatever its transport does
            self._raised = f"{type(error).__name__}: {error}"
            return False

    def failure_reason(self) -> str:
        """Return why the last batch was not taken, safe to show."""
        reason = self._raised
        if reason is None:
            reason = self.log[-1].getMessage() if self.log else "the exporter gave no reason"
        if "Failed parsing HTTP/2" in reason:  # grpcio's words for a server of HTTP/1
            return f"it does not speak gRPC. Set {PROTOCOLS[1]}={HTTP}"
        return exporter_message(reason, os.environ, _MAX_REASON)


@contextmanager
def open_target(
    to: str, inputs: Sequence[str], environ: Mapping[str, str]
) -> Iterator[ExportTarget]:
    """Open the target that `--to` names.

    Args:
        to: The URL of an endpoint, or the name of a file.
        inputs: The files to import, which must not include the target.
        environ: Configures the exporter of an endpoint.

    Raises:
        ConfigError: `to` is neither an endpoint nor a file that can be appended to.
        SourceError: The file cannot be written.
    """
    with captured_log() as log:
        if _URL.match(to):
            exporter = endpoint_exporter(to, environ)
            try:
                yield ExportTarget(display(to), exporter, log)
            finally:
                exporter.shutdown()
            return
        _check_file_name(to)
        with open_trace_file(to, inputs) as file:
            yield ExportTarget(display(to), file.exporter, log, file.known_keys, is_file=True)


def _check_file_name(to: str) -> None:
    """Raise ConfigError if `to` looks like something other than a file."""
    if to == "-":
        raise ConfigError(
            ["--to - is not supported: the summary goes to standard output; give a file"]
        )
    if _HOST_AND_PORT.fullmatch(to) and not os.path.exists(to):
        raise ConfigError(
            [f"--to {display(to)} is neither a file nor a URL; did you mean http://{display(to)}?"]
        )
