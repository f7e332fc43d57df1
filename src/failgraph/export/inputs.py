"""Files of saved rows and journals, each read once: the attempts and failures, and what the other lines are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from failgraph.errors import SourceError
from failgraph.journal.lines import JournalLine, is_journal_line, is_removed_note, parse_line
from failgraph.readers.journal_ids import JournalIds, SpanIds
from failgraph.readers.lines import numbered_lines
from failgraph.readers.row_attempts import RowAttempt, read_attempt
from failgraph.readers.row_shapes import row_shape
from failgraph.readers.source import GZIP_ERRORS, Progress, SourceFile, decompressed, open_source

_MAX_HELD = 20  # problems of lines that are kept until the file turns out to hold rows


class SavedAttempt(NamedTuple):
    """An attempt with failures, and when its file was last written."""

    attempt: RowAttempt
    written_unix_nano: int


class JournalFailure(NamedTuple):
    """A failure of a journal, and the ids of its span."""

    line: JournalLine
    ids: SpanIds


class RowWithoutFailure(NamedTuple):
    """A row or a journal's line that tells of no failure."""


class MalformedRow(NamedTuple):
    """A row that cannot be read."""

    problem: str


class EmptyFile(NamedTuple):
    """A file without any row, which is no error."""

    problem: str


class RejectedFile(NamedTuple):
    """A file that could not be read to its end, or that holds something else."""

    problem: str


FailureInput = SavedAttempt | JournalFailure
InputItem = FailureInput | RowWithoutFailure | MalformedRow | EmptyFile | RejectedFile


def read_input(path: str, progress: Progress | None = None) -> Iterator[InputItem]:
    """Read one file: one item a row or a journal's line, and one more if the file is no such file."""
    try:
        with open_source(path) as file:
            written_unix_nano = os.fstat(file.fileno()).st_mtime_ns
            stream = decompressed(SourceFile(path, file), progress)
            yield from _FileReader(path, written_unix_nano).items(stream)
    except SourceError as error:
        yield RejectedFile(str(error))
    except GZIP_ERRORS:
        yield RejectedFile(
            f"{path}: the gzip data is damaged, or ends early; what stood before that is read"
        )


class _FileReader:
    """One file while it is read: until it shows a saved row or a journal's line, no line of it is an item."""

    def __init__(self, path: str, written_unix_nano: int) -> None:
        self._path = path
        self._written_unix_nano = written_unix_nano
        self._has_rows = False
        self._journal_ids = JournalIds()
        self._held: list[MalformedRow] = []
        self._malformed_count = self._input_count = 0

    def items(self, stream: IO[bytes]) -> Iterator[InputItem]:
        too_long: list[str] = []
        for number, line in numbered_lines(stream, too_long.append):
            yield from self._too_long(too_long)
            yield from self._line(number, line)
        yield from self._too_long(too_long)
        if not self._has_rows:
            yield self._without_rows()

    def _without_rows(self) -> EmptyFile | RejectedFile:
        """Say what the file is instead."""
        if self._input_count:
            what = "holds inputs of rollouts, not what became of them; give the file that was collected"
            return RejectedFile(f"{self._path} {what}")
        if self._malformed_count:
            lines = f"{self._malformed_count} line{'' if self._malformed_count == 1 else 's'}"
            what = (
                f"is neither a rollout file nor a journal: it holds {lines} and none is a saved row"
            )
            return RejectedFile(f"{self._path} {what}")
        # As Gym leaves the sidecar of a run in which nothing failed.
        return EmptyFile(f"{self._path} has no rows: it is empty")

    def _line(self, number: int, line: bytes) -> Iterator[InputItem]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            yield from self._malformed(f"line {number} is no JSON")
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
            yield from self._malformed(f"line {number} is no saved row")
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
        """It is a file of rows: what was held back is counted, once."""
        if self._has_rows:
            return
        self._has_rows = True
        for _ in range(self._input_count):
            yield RowWithoutFailure()
        yield from self._held
        for _ in range(self._malformed_count - len(self._held)):
            yield MalformedRow("")  # only counted: the result names no more than were held

    def _malformed(self, what: str) -> Iterator[InputItem]:
        row = MalformedRow(f"{self._path}: {what}")
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
