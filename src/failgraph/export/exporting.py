"""The export: reads all sources, and sends what they hold to a target."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from failgraph.export.inputs import InputItem, JournalFailure, SavedAttempt, read_input, spans_first
from failgraph.export.otlp_documents import SpanGroup
from failgraph.export.result import ExportResult
from failgraph.export.sending import Sender
from failgraph.export.targets import open_target
from failgraph.readers.source import Progress


def export_sources(
    paths: Sequence[str],
    output: str,
    environ: Mapping[str, str] = os.environ,
    progress: Progress | None = None,
) -> ExportResult:
    """Write spans, and saved rows and journals as spans, to a file or an endpoint.

    Args:
        paths: The files to read.
        output: The file or endpoint that gets their traces.
        environ: Configures the exporter of an endpoint.
        progress: Called with the bytes read and the bytes of all files.

    Returns:
        The count of all rows and spans, and what was wrong with rows, files and the target.

    Raises:
        ConfigError: `output` is neither an endpoint nor a file that can be appended to.
        SourceError: The file cannot be written.
    """
    result = ExportResult()
    with open_target(output, paths, environ) as target:
        result.into_file = target.is_file
        sender = Sender(target, result)
        inputs = [*spans_first(paths)]
        for path, progress_of_file in zip(inputs, _progress_by_file(inputs, progress), strict=True):
            for item in read_input(path, progress_of_file):
                result.count_input(item)
                if not _add(sender, item):
                    return result
        sender.send()
    return result


def _add(sender: Sender, item: InputItem) -> bool:
    """Add a failure or spans. Return False if the target refused something."""
    if isinstance(item, SpanGroup):
        return sender.add_spans(item)
    if isinstance(item, SavedAttempt | JournalFailure):
        return sender.add_failure(item)
    return True


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
