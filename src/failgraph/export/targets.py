"""Where imported traces go: a file or an endpoint, with what is known of what it has, and why it takes no more."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from failgraph.errors import ConfigError
from failgraph.export.endpoints import endpoint_exporter
from failgraph.export.files import file_exporter
from failgraph.otlp import exporter_message
from failgraph.redaction.display import display

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_HOST_AND_PORT = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}(?:/.*)?")
_MAX_SAID = 300


class Target(NamedTuple):
    """An open target."""

    exporter: SpanExporter
    known: set[bytes]
    """The keys of what is there already, as far as the target can be asked."""
    is_file: bool
    """A file can be asked, an endpoint cannot."""
    complaints: list[str]

    def send(self, batch: Sequence[ReadableSpan]) -> bool:
        """Hand a batch over; whether it was taken."""
        try:
            return self.exporter.export(batch) is SpanExportResult.SUCCESS
        except Exception as error:  # noqa: BLE001 - an exporter may raise whatever its transport does
            self.complaints.append(f"{type(error).__name__}: {error}")
            return False

    def why(self) -> str:
        """Why the last batch was not taken, in the exporter's words."""
        said = self.complaints[-1] if self.complaints else "the exporter does not say why"
        return exporter_message(said, os.environ, _MAX_SAID)


@contextmanager
def opened_target(to: str, inputs: Sequence[str], environ: Mapping[str, str]) -> Iterator[Target]:
    """The target that `to` names: an address, or else a file.

    Raises ConfigError where it can be neither, SourceError where the file cannot be written.
    """
    with _complaints() as complaints:
        if _ADDRESS.match(to):
            exporter = endpoint_exporter(to, environ)
            try:
                yield Target(exporter, set(), is_file=False, complaints=complaints)
            finally:
                exporter.shutdown()
        elif to == "-":
            raise ConfigError(
                ["--to - is no target: standard output is for what became of the rows; name a file"]
            )
        elif _HOST_AND_PORT.fullmatch(to) and not os.path.exists(to):
            raise ConfigError(
                [
                    f"--to {display(to)} is neither a file nor an address; did you mean http://{display(to)}?"
                ]
            )
        else:
            with file_exporter(to, inputs) as (exporter, known):
                yield Target(exporter, known, is_file=True, complaints=complaints)


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """What the exporters log meanwhile, for one message of our own instead of theirs."""
    said: list[str] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said[:] = [*said[-9:], record.getMessage()]

    logger, handler = logging.getLogger("opentelemetry"), Keeping(logging.WARNING)
    logger.addHandler(handler)
    before, logger.propagate = logger.propagate, False
    try:
        yield said
    finally:
        logger.propagate = before
        logger.removeHandler(handler)
