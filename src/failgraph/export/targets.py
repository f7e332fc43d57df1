"""Where imported traces go: a file or an endpoint, with what is known of what it has, and why it takes no more."""

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
from failgraph.otlp import exporter_message
from failgraph.redaction.display import display

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_HOST_AND_PORT = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}(?:/.*)?")
_MAX_REASON = 300  # characters of why a batch was not taken


@dataclass(slots=True)
class ExportTarget:
    """An open target.

    Attributes:
        log: What OpenTelemetry has logged since it was opened.
        known_keys: The keys of what is there already, as far as the target can be asked.
        is_file: True if it can be asked: a file, not an endpoint.
    """

    exporter: SpanExporter
    log: Sequence[logging.LogRecord]
    known_keys: set[bytes] = field(default_factory=set)
    is_file: bool = False
    _raised: str | None = None

    def send(self, batch: Sequence[ReadableSpan]) -> bool:
        """Hand a batch over; True if it was taken."""
        try:
            return self.exporter.export(batch) is SpanExportResult.SUCCESS
        except Exception as error:  # noqa: BLE001 - an exporter may raise whatever its transport does
            self._raised = f"{type(error).__name__}: {error}"
            return False

    def failure_reason(self) -> str:
        """Say why the last batch was not taken, in the exporter's words."""
        reason = self._raised
        if reason is None:
            reason = self.log[-1].getMessage() if self.log else "the exporter does not say why"
        return exporter_message(reason, os.environ, _MAX_REASON)


@contextmanager
def open_target(
    to: str, inputs: Sequence[str], environ: Mapping[str, str]
) -> Iterator[ExportTarget]:
    """The target that `to` names: an address, or else a file.

    Raises ConfigError where it can be neither, SourceError where the file cannot be written.
    """
    with captured_log() as log:
        if _URL.match(to):
            exporter = endpoint_exporter(to, environ)
            try:
                yield ExportTarget(exporter, log)
            finally:
                exporter.shutdown()
            return
        _check_file_name(to)
        with open_trace_file(to, inputs) as file:
            yield ExportTarget(file.exporter, log, file.known_keys, is_file=True)


def _check_file_name(to: str) -> None:
    """Raise ConfigError for what is no name of a file."""
    if to == "-":
        raise ConfigError(
            ["--to - is no target: standard output is for what became of the rows; name a file"]
        )
    if _HOST_AND_PORT.fullmatch(to) and not os.path.exists(to):
        raise ConfigError(
            [
                f"--to {display(to)} is neither a file nor an address; did you mean http://{display(to)}?"
            ]
        )
