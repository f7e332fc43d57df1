"""Files of saved rows and journals, each read once: the attempts and failures, and what the other lines are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from failgraph.errors import SourceError
from failgraph.export.account import Account
from failgraph.gym_formats.failure_classes import is_known_class
from failgraph.journal.lines import JournalLine, is_journal_line, is_removed_note, parse_line
from failgraph.losses import Loss
from failgraph.readers.contents import BadLines, Found
from failgraph.readers.lines import numbered
from failgraph.readers.origins import Origins, Place
from failgraph.readers.row_attempts import Attempt, attempt_of, shape_of
from failgraph.readers.source import UNPACK_ERRORS, Progress, opened, unpacked

_MAX_HELD = 20


class Saved(NamedTuple):
    """An attempt with failures, and when its file was last written."""

    attempt: Attempt
    written_unix_nano: int


class Kept(NamedTuple):
    """A failure of a journal, and where it stands."""

    line: JournalLine
    place: Place


def saved(path: str, account: Account, progress: Progress | None = None) -> Iterator[Saved | Kept]:
    """The attempts with failures of one file, or the failures of a journal; the caller says what became of them.

    `account` gets every other row; a file without rows or that holds something else is only named there.
    """
    reading = _Reading(path, account)
    try:
        with opened(path) as file:
            written = os.fstat(file.fileno()).st_mtime_ns
            for found in reading.found(unpacked(file, path, progress)):
                yield Saved(found, written) if isinstance(found, Attempt) else found
        reading.end()
    except SourceError as error:
        account.refused.append(str(error))
    except UNPACK_ERRORS:
        account.refused.append(
            f"{path}: the gzip data is damaged, or ends early; what stood before that is read"
        )


class _Reading:
    """One file while it is read: until it shows a saved row, its lines are not counted."""

    def __init__(self, path: str, account: Account) -> None:
        self._path = path
        self._account = account
        self._is_rollouts = False
        self._origins = Origins()
        self._held: list[str] = []
        self._strange = self._inputs = 0

    def found(self, stream: IO[bytes]) -> Iterator[Attempt | Kept]:
        too_long: list[Loss] = []
        for number, line in numbered(stream, BadLines(Found(), too_long)):
            self._drop(too_long)
            found = self._found(number, line)
            if found is not None:
                yield found
        self._drop(too_long)

    def end(self) -> None:
        """The file has been read: say so where it was none of rows."""
        if self._is_rollouts:
            return
        if self._inputs:
            what = "holds inputs of rollouts, not what became of them; give the file that was collected"
        elif self._strange:
            lines = f"{self._strange} line{'' if self._strange == 1 else 's'}"
            what = (
                f"is neither a rollout file nor a journal: it holds {lines} and none is a saved row"
            )
        else:
            # As Gym leaves the sidecar of a run in which nothing failed.
            self._account.problems.append(f"{self._path} has no rows: it is empty")
            return
        self._account.refused.append(f"{self._path} {what}")

    def _found(self, number: int, line: bytes) -> Attempt | Kept | None:
        """The attempt with failures, or the failure, that a line tells of; None, and entered, for any other."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            self._malform(f"line {number} is no JSON")
            return None
        if is_journal_line(row) or is_removed_note(row):
            return self._kept(number, row)
        return self._attempt(number, row)

    def _kept(self, number: int, row: dict[str, Any]) -> Kept | None:
        """The failure of a journal's line."""
        self._begin()
        try:
            line = None if is_removed_note(row) else parse_line(row)
        except ValueError as error:
            self._malform(f"line {number}: {error}")
            return None
        self._account.rows += 1
        if line is None:
            self._account.not_a_failure += 1
            return None
        return Kept(line, self._origins.place(line))

    def _attempt(self, number: int, row: Any) -> Attempt | None:
        shape = shape_of(row)
        if shape is None:
            self._malform(f"line {number} is no saved row")
        elif shape == "input" and not self._is_rollouts:
            self._inputs += 1
        else:
            self._begin()
            try:
                attempt = attempt_of(row, shape) if shape in ("attempt", "envelope") else None
            except ValueError as error:
                self._malform(f"line {number}: {error}")
                return None
            self._account.rows += 1
            if attempt is not None and (attempt.events or attempt.failure_id is not None):
                if attempt.failure_class is not None and not is_known_class(attempt.failure_class):
                    self._account.meet_unknown(attempt.failure_class)
                return attempt
            self._account.not_a_failure += 1
        return None

    def _begin(self) -> None:
        """It is a file of rows: what was held back is counted."""
        if not self._is_rollouts:
            self._is_rollouts = True
            self._account.rows += self._inputs
            self._account.not_a_failure += self._inputs
            for number in range(self._strange):
                self._malform(self._held[number] if number < len(self._held) else "")

    def _malform(self, what: str) -> None:
        if self._is_rollouts:
            self._account.malform(f"{self._path}: {what}")
            return
        self._strange += 1
        if len(self._held) < _MAX_HELD:
            self._held.append(what)

    def _drop(self, too_long: list[Loss]) -> None:
        for loss in too_long:
            self._malform(loss.detail)
        too_long.clear()
