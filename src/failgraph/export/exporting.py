"""The export: reads all sources, and sends what they hold to a target."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

from failgraph.export.inputs import (
    InputItem,
    JournalFailure,
    RejectedFile,
    SavedAttempt,
    read_input,
    spans_first,
)
from failgraph.export.otlp_documents import SpanGroup
from failgraph.export.result import ExportResult
from failgraph.export.sending import Sender
from failgraph.export.targets import open_target
from failgraph.readers.journal_ids import JournalIds
from failgraph.readers.source import Progress, SourceFile, no_files_error, open_sources
from failgraph.redaction.display import display


def export_sources(
    sources: Sequence[str],
    output: str,
    environ: Mapping[str, str] = os.environ,
    progress: Progress | None = None,
) -> ExportResult:
    """Write spans, and saved rows and journals as spans, to a file or an endpoint.

    Args:
        sources: The files and directories to read; `-` is standard input.
        output: The file or endpoint that gets their traces.
        environ: Picks the protocol of an endpoint, and nothing else: OpenTelemetry's exporter
            reads the other variables of this process.
        progress: Called with the bytes read and the bytes of all files.

    Returns:
        The count of all rows and spans, and what was wrong with rows, files and the target.

    Raises:
        ConfigError: `output` is neither an endpoint nor a file that can be appended to.
        SourceError: A source does not exist, or the file cannot be written. Nothing was sent then.
    """
    result = ExportResult()
    with ExitStack() as stack:
        files = _open(sources, output, result, stack)
        target = stack.enter_context(open_target(output, sources, environ))
        result.into_file = target.is_file
        _send(files, Sender(target, result), result, progress)
    result.close()
    return result


def _open(
    sources: Sequence[str], output: str, result: ExportResult, stack: ExitStack
) -> list[SourceFile]:
    """Open all files, each once. The output may be in a directory that is read; it is left out."""
    opened = stack.enter_context(open_sources(sources))
    if not opened.files and not opened.unopened:
        raise no_files_error(sources[0])
    result.unused += map(display, opened.unopened)
    return [file for file in opened.files if not (file.is_member and _is_output(file, output))]


def _is_output(file: SourceFile, output: str) -> bool:
    if not os.path.exists(output):
        return False
    return os.path.samestat(os.fstat(file.file.fileno()), os.stat(output))


def _send(
    files: Sequence[SourceFile], sender: Sender, result: ExportResult, progress: Progress | None
) -> None:
    """Send what the files hold, until the target refuses something."""
    ordered = spans_first(files)
    journal_ids = JournalIds()
    for file, progress_of_file in zip(ordered, _progress_by_file(ordered, progress), strict=True):
        for item in read_input(file, journal_ids, progress_of_file):
            if isinstance(item, RejectedFile) and item.is_foreign and file.is_member:
                result.unused.append(item.problem)
                continue
            result.count_input(item)
            if not _add(sender, item):
                return
    sender.send()


def _add(sender: Sender, item: InputItem) -> bool:
    """Add a failure or spans. Return False if the target refused something."""
    if isinstance(item, SpanGroup):
        return sender.add_spans(item)
    if isinstance(item, SavedAttempt | JournalFailure):
        return sender.add_failure(item)
    return True


def _progress_by_file(
    files: Sequence[SourceFile], progress: Progress | None
) -> Iterator[Progress | None]:
    """Yield the progress callback of each file, which counts on top of the files before it."""
    sizes = [os.fstat(file.file.fileno()).st_size for file in files]
    for number in range(len(files)):
        if progress is None:
            yield None
        else:
            yield _shifted(progress, sum(sizes[:number]), sum(sizes))


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    """Return a callback that adds the bytes `before` a file to those read of it."""
    return lambda done, _: progress(min(before + done, total), total)
