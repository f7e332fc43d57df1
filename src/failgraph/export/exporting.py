"""The export: sends the failures of all files to a target in batches, and counts every row."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from opentelemetry.sdk.trace import ReadableSpan

from failgraph.codec.attributes import text_bytes
from failgraph.export.inputs import FailureInput, JournalFailure, SavedAttempt, read_input
from failgraph.export.known import key_of_input
from failgraph.export.result import ExportResult
from failgraph.export.spans import span_of
from failgraph.export.targets import ExportTarget, open_target
from failgraph.readers.row_spans import attempt_failure_kind
from failgraph.readers.source import Progress
from failgraph.view.lines import count_of

_BATCH_SPANS = 512
_BATCH_BYTES = 1 << 20  # of text; gRPC servers reject messages of more than 4 MiB


def export_sources(
    paths: Sequence[str],
    output: str,
    environ: Mapping[str, str] = os.environ,
    progress: Progress | None = None,
) -> ExportResult:
    """Write saved rows and journals as traces to a file or an endpoint.

    Args:
        paths: The files to read.
        output: The file or endpoint that gets their traces.
        environ: Configures the exporter of an endpoint.
        progress: Called with the bytes read and the bytes of all files.

    Returns:
        The count of all rows, and what was wrong with rows, files and the target.

    Raises:
        ConfigError: `output` is neither an endpoint nor a file that can be appended to.
        SourceError: The file cannot be written.
    """
    result = ExportResult()
    with open_target(output, paths, environ) as target:
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
    """Spans that are not sent yet."""

    def __init__(self, target: ExportTarget, result: ExportResult) -> None:
        self._target = target
        self._result = result
        self._spans: list[ReadableSpan] = []
        self._bytes = self._recovered = 0

    def add(self, item: FailureInput) -> bool:
        """Add a failure unless the target has it, and send the batch if it is full.

        Returns:
            False if the target refused the batch.
        """
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
        """Send the batch. Return False if the target refused it."""
        spans, recovered = self._spans, self._recovered
        self._spans, self._bytes, self._recovered = [], 0, 0
        if not spans or self._target.send(spans):
            self._result.exported += len(spans)
            self._result.recovered += recovered
            return True
        self._result.not_sent += len(spans)
        self._result.refused.append(self._refusal())
        return False

    def _refusal(self) -> str:
        verb = "write to" if self._target.is_file else "send to"
        sent, failed = self._result.exported, self._result.not_sent
        reason = self._target.failure_reason().rstrip(".")
        return (
            f"cannot {verb} {self._target.name}: {reason}."
            f" {sent} of {count_of(sent + failed, 'row', 'rows')} sent; safe to repeat."
        )


def _progress_by_file(paths: Sequence[str], progress: Progress | None) -> Iterator[Progress | None]:
    """Yield the progress callback of each file, which counts on top of the files before it."""
    sizes = [os.path.getsize(path) if os.path.isfile(path) else 0 for path in paths]
    for number in range(len(paths)):
        if progress is None:
            yield None
        else:
            yield _shifted(progress, sum(sizes[:number]), sum(sizes))


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    """Return a callback that adds the bytes `before` a file to those read of it."""
    return lambda done, _: progress(min(before + done, total), total)
