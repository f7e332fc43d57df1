"""Capture of OpenTelemetry's log while a command uses it."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_MAX_RECORDS = 100  # the newest are kept


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: deque[logging.LogRecord] = deque(maxlen=_MAX_RECORDS)

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def captured_log() -> Iterator[Sequence[logging.LogRecord]]:
    """Collect the warnings and errors of OpenTelemetry's loggers instead of printing them.

    They may contain values of headers and variables, so show them only redacted.
    """
    logger, collector = logging.getLogger("opentelemetry"), _Collector()
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(collector)
    try:
        yield collector.records
    finally:
        logger.removeHandler(collector)
        logger.propagate = propagate
