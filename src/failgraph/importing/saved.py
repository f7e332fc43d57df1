"""Files of saved rows, one row a line, each read once: the attempts that have failures, and what the other rows are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import IO, NamedTuple

from failgraph.errors import SourceError
from failgraph.gym.classes import is_known
from failgraph.importing.account import Account
from failgraph.losses import Loss
from failgraph.readers.found import BadLines, Found
from failgraph.readers.json_documents import numbered
from failgraph.readers.rollouts import Attempt, attempt_of, shape_of
from failgraph.readers.source import UNPACK_ERRORS, Progress, opened, unpacked

_MAX_HELD = 20


class Saved(NamedTuple):
    """An attempt with failures, and when its file was last written."""

    attempt: Attempt
    written_unix_nano: int


def saved(path: str, account: Account, progress: Progress | None = None) -> Iterator[Saved]:
    """The attempts with failures of one file, of which the caller says what became of them.

    `account` gets every other row; a file without rows or that holds something else is only named there.
    """
    reading = _Reading(path, account)
    try:
        with opened(path) as file:
            written = os.fstat(file.fileno()).st_mtime_ns
            for attempt in reading.attempts(unpacked(file, path, progress)):
                yield Saved(attempt, written)
        reading.end()
    except SourceError as error:
        account.refused.append(str(error))
    except UNPACK_ERRORS:
        account.refused.append(f"{path}: the gzip data is damaged, or ends early; what stood before that is read")


class _Reading:
    """One file while it is read: until it shows a saved row, its lines are not counted."""

    def __init__(self, path: str, account: Account) -> None:
        self._path = path
        self._account = account
        self._is_rollouts = False
        self._held: list[str] = []
        self._strange = self._inputs = 0

    def attempts(self, stream: IO[bytes]) -> Iterator[Attempt]:
        too_long: list[Loss] = []
        for number, line in numbered(stream, BadLines(Found(), too_long)):
            self._drop(too_long)
            attempt = self._attempt(number, line)
            if attempt is not None:
                yield attempt
        self._drop(too_long)

    def end(self) -> None:
        """The file has been read: say so where it was none of rows."""
        if self._is_rollouts:
            return
        if self._inputs:
            what = "holds inputs of rollouts, not what became of them; give the file that was collected"
        elif self._strange:
            lines = f"{self._strange} line{'' if self._strange == 1 else 's'}"
            what = f"is not a rollout file: it holds {lines} and none is a saved row"
        else:
            # As Gym leaves the sidecar of a run in which nothing failed.
            self._account.problems.append(f"{self._path} has no rows: it is empty")
            return
        self._account.refused.append(f"{self._path} {what}")

    def _attempt(self, number: int, line: bytes) -> Attempt | None:
        """The attempt with failures that a line tells of; None, and entered into the account, for any other."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            self._malform(f"line {number} is no JSON")
            return None
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
                if attempt.failure_class is not None and not is_known(attempt.failure_class):
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
