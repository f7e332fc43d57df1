"""The import: every row of every file to the target, in batches, and an account of what became of each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from opentelemetry.sdk.trace import ReadableSpan

from failgraph.codec.attributes import text_bytes
from failgraph.export.inputs import FailureInput, JournalFailure, SavedAttempt, read_input
from failgraph.export.known import key_of_input
from failgraph.export.result import ImportResult
from failgraph.export.spans import span_of
from failgraph.export.targets import ExportTarget, open_target
from failgraph.readers.row_spans import attempt_failure_kind
from failgraph.readers.source import Progress

_BATCH_SPANS = 512
_BATCH_BYTES = 1 << 20  # of text in one batch; a gRPC server takes messages of 4 MiB


def import_files(
    paths: Sequence[str],
    to: str,
    environ: Mapping[str, str] = os.environ,
    progress: Progress | None = None,
) -> ImportResult:
    """Import the saved rows and the journals of `paths` into `to`; what became of each row or line.

    `progress` is told how many bytes of how many of all files have been read. Raises ConfigError where `to` can be no
    target, SourceError where it cannot be written. What is wrong with a file or a row is in the result.
    """
    result = ImportResult()
    with open_target(to, paths, environ) as target:
        result.into_file = target.is_file
        batch = _Batch(target, result)
        for path, progress_of_file in zip(paths, _progress_by_file(paths, progress), strict=True):
            for item in read_input(path, progress_of_file):
                result.count_input(item)
                if isinstance(item, SavedAttempt | JournalFailure) and not batch.add(item):
                    return result
        batch.send()
    return result


class _Batch:
    """Spans that wait until there are enough of them."""

    def __init__(self, target: ExportTarget, result: ImportResult) -> None:
        self._target = target
        self._result = result
        self._spans: list[ReadableSpan] = []
        self._bytes = self._recovered = 0

    def add(self, item: FailureInput) -> bool:
        """Add an attempt or a failure, and send if there are enough; False if the target takes no more."""
        key = key_of_input(item)
        if key in self._target.known_keys:
            self._result.already_there += 1
            return True
        self._target.known_keys.add(key)
        span = span_of(item)
        if isinstance(item, SavedAttempt) and attempt_failure_kind(item.attempt) is None:
            self._recovered += 1
        self._spans.append(span)
        self._bytes += sum(text_bytes(event.attributes or {}) for event in span.events)
        is_full = len(self._spans) >= _BATCH_SPANS or self._bytes >= _BATCH_BYTES
        return self.send() if is_full else True

    def send(self) -> bool:
        """Send what there is; False if the target does not take it."""
        spans, recovered = self._spans, self._recovered
        self._spans, self._bytes, self._recovered = [], 0, 0
        if not spans or self._target.send(spans):
            self._result.imported += len(spans)
            self._result.recovered += recovered
            return True
        self._result.not_sent += len(spans)
        self._result.refused.append(
            f"{len(spans)} spans were not taken, and no more were sent: {self._target.failure_reason()}"
        )
        return False


def _progress_by_file(paths: Sequence[str], progress: Progress | None) -> Iterator[Progress | None]:
    """For each file what is told of its own bytes, as a part of those of all files."""
    sizes = [os.path.getsize(path) if os.path.isfile(path) else 0 for path in paths]
    for number in range(len(paths)):
        if progress is None:
            yield None
        else:
            yield _shifted(progress, sum(sizes[:number]), sum(sizes))


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    """Count the bytes of one file on top of those `before` it."""
    return lambda done, _: progress(min(before + done, total), total)
