"""Files to export: spans, rows that NeMo Gym saved, and journals. Each is read once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple

from failgraph.errors import SourceError, reason_of
from failgraph.export.otlp_documents import SpanGroup
from failgraph.export.span_inputs import SpanFile, holds_spans
from failgraph.journal.lines import JournalLine, is_journal_line, is_removed_note, parse_line
from failgraph.readers.journal_ids import JournalIds, SpanIds
from failgraph.readers.lines import numbered_lines
from failgraph.readers.row_attempts import RowAttempt, read_attempt
from failgraph.readers.row_shapes import row_shape
from failgraph.readers.source import GZIP_ERRORS, HEAD_SIZE, Progress, SourceFile, decompressed
from failgraph.redaction.display import display

_MAX_HELD = 20  # malformed rows kept until the file turns out to have rows


class SavedAttempt(NamedTuple):
    """A row of an attempt with failures.

    Attributes:
        attempt: What the row says.
        written_unix_nano: When its file was last written, in ns since the epoch.
    """

    attempt: RowAttempt
    written_unix_nano: int


class JournalFailure(NamedTuple):
    """A journal line with a failure.

    Attributes:
        line: What the line says.
        ids: The ids of the span to make for it.
    """

    line: JournalLine
    ids: SpanIds


class RowWithoutFailure(NamedTuple):
    """A row or a journal line without a failure."""


class MalformedRow(NamedTuple):
    """A row that cannot be read."""

    problem: str  # file, line and reason; empty if enough others are named already


class EmptyFile(NamedTuple):
    """A file without any row. This is not an error."""

    problem: str  # one sentence


class RejectedFile(NamedTuple):
    """A file that could not be read to its end, or that has nothing to export."""

    problem: str  # one sentence
    is_foreign: bool = False  # True if it is something else, which is expected in a directory


class UnreadableSpans(NamedTuple):
    """A part of a file of spans that cannot be read."""

    problem: str  # file, line and reason


FailureInput = SavedAttempt | JournalFailure
InputItem = (
    FailureInput
    | SpanGroup
    | RowWithoutFailure
    | MalformedRow
    | UnreadableSpans
    | EmptyFile
    | RejectedFile
)


def read_input(
    file: SourceFile, journal_ids: JournalIds, progress: Progress | None = None
) -> Iterator[InputItem]:
    """Read a file and yield one item for each of its rows or journal lines, or groups of spans.

    If the file is empty, damaged or something else, the last item says so; nothing is raised.

    Args:
        file: A file of spans, rows or journal lines. Gzip is unpacked.
        journal_ids: The ids for the lines of the journals in this export. One incident may be in
            several files.
        progress: Called with the bytes read and the size of the file.
    """
    name = display(file.name)
    try:
        head = decompressed(file).read(HEAD_SIZE)
        stream = decompressed(file, progress)
        if holds_spans(head):
            yield from _span_items(SpanFile(file, head), stream)
        else:
            written_unix_nano = os.fstat(file.file.fileno()).st_mtime_ns
            reader = _FileReader(name, written_unix_nano, journal_ids)
            yield from reader.items(stream)
            if reader.is_foreign:  # spans that do not begin as usual, or something else
                yield from _span_items(SpanFile(file, head), decompressed(file))
    except SourceError as error:
        yield RejectedFile(display(str(error), 2000))
    except GZIP_ERRORS:
        yield RejectedFile(
            f"{name}: damaged or incomplete gzip data; what comes before the damage was exported"
        )
    except OSError as error:
        yield RejectedFile(f"{name}: {reason_of(error)}")


def spans_first(files: Iterable[SourceFile]) -> list[SourceFile]:
    """Return files of spans first: their failures need no copy from a journal."""
    return sorted(files, key=lambda file: not _is_span_file(file))


def _is_span_file(file: SourceFile) -> bool:
    try:
        return holds_spans(decompressed(file).read(HEAD_SIZE))
    except (SourceError, OSError, *GZIP_ERRORS):
        return False


def _span_items(file: SpanFile, stream: IO[bytes]) -> Iterator[InputItem]:
    yield from file.groups(stream)
    yield from map(UnreadableSpans, file.problems)
    if file.rejection is not None:
        yield RejectedFile(file.rejection, file.is_foreign)


class _FileReader:
    """Reads one file. Its lines are held back until one of them shows that the file has rows.

    Otherwise a file of something else would be reported as thousands of malformed rows.
    """

    def __init__(self, name: str, written_unix_nano: int, journal_ids: JournalIds) -> None:
        self._name = name
        self._written_unix_nano = written_unix_nano
        self._has_rows = False
        self._journal_ids = journal_ids
        self._held: list[MalformedRow] = []
        self._malformed_count = self._input_count = 0

    def items(self, stream: IO[bytes]) -> Iterator[InputItem]:
        """Yield the items of the whole file."""
        too_long: list[str] = []
        for number, line in numbered_lines(stream, too_long.append):
            yield from self._too_long(too_long)
            yield from self._line(number, line)
        yield from self._too_long(too_long)
        if self._input_count and not self._has_rows:
            yield RejectedFile(
                f"{self._name}: the inputs of rollouts, not their results."
                " Give the file that was collected.",
                is_foreign=True,
            )
        elif not (self._has_rows or self._malformed_count):
            # Gym leaves an empty failures file beside the rows of a run without failures.
            yield EmptyFile(f"{self._name}: empty")

    @property
    def is_foreign(self) -> bool:
        """True if no line is a row, but there are lines. Complete once `items` has ended."""
        return bool(self._malformed_count) and not (self._has_rows or self._input_count)

    def _line(self, number: int, line: bytes) -> Iterator[InputItem]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            yield from self._malformed(f"line {number} is not JSON")
            return
        if is_journal_line(row) or is_removed_note(row):
            yield from self._journal_line(number, row)
        else:
            yield from self._row(number, row)

    def _journal_line(self, number: int, row: dict[str, Any]) -> Iterator[InputItem]:
        yield from self._begin_rows()
        if is_removed_note(row):
            yield RowWithoutFailure()
            return
        try:
            line = parse_line(row)
        except ValueError as error:
            yield from self._malformed(f"line {number}: {error}")
            return
        yield JournalFailure(line, self._journal_ids.ids_of(line))

    def _row(self, number: int, row: Any) -> Iterator[InputItem]:
        shape = row_shape(row)
        if shape is None:
            yield from self._malformed(f"line {number} is not a saved row")
            return
        if shape == "input" and not self._has_rows:
            self._input_count += 1
            return
        yield from self._begin_rows()
        if shape not in ("attempt", "envelope"):
            yield RowWithoutFailure()
            return
        try:
            attempt = read_attempt(row, shape)
        except ValueError as error:
            yield from self._malformed(f"line {number}: {error}")
            return
        if attempt.events or attempt.failure_id is not None:
            yield SavedAttempt(attempt, self._written_unix_nano)
        else:
            yield RowWithoutFailure()

    def _begin_rows(self) -> Iterator[InputItem]:
        """Yield what was held back, now that the file is known to have rows."""
        if self._has_rows:
            return
        self._has_rows = True
        for _ in range(self._input_count):
            yield RowWithoutFailure()
        yield from self._held
        for _ in range(self._malformed_count - len(self._held)):
            yield MalformedRow("")  # not named: ExportResult names no more than were held

    def _malformed(self, reason: str) -> Iterator[InputItem]:
        """Yield a malformed row, or hold it back."""
        row = MalformedRow(f"{self._name}: {display(reason)}")
        if self._has_rows:
            yield row
            return
        self._malformed_count += 1
        if len(self._held) < _MAX_HELD:
            self._held.append(row)

    def _too_long(self, problems: list[str]) -> Iterator[InputItem]:
        for problem in problems:
            yield from self._malformed(problem)
        problems.clear()
