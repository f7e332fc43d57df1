"""What became of each row that an import read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from failgraph.export.inputs import (
    EmptyFile,
    InputItem,
    JournalFailure,
    MalformedRow,
    RejectedFile,
    RowWithoutFailure,
    SavedAttempt,
)
from failgraph.gym_formats.failure_classes import is_known_class

_MAX_NAMED = 20  # malformed rows that get a sentence each
_MAX_CLASSES = 1000


@dataclass(slots=True)
class ImportResult:
    """Counts of rows, whose sum is `rows`, and sentences on what went wrong.

    Attributes:
        into_file: True if the target could be asked what it has: a file, not an endpoint.
        not_sent: Rows that the target did not take; those behind them are not read.
        recovered: Of the imported: attempts that scored in spite of their failures.
        unknown_classes: Failure classes that Gym's table does not have, with the number of rows.
        problems: On the first malformed rows, and on files without any row.
        unnamed: Malformed rows that `problems` does not name.
        refused: On files that could not be read or hold something else, and on a target that took
            no more.
    """

    into_file: bool = True
    rows: int = 0
    imported: int = 0
    already_there: int = 0
    not_a_failure: int = 0
    malformed: int = 0
    not_sent: int = 0
    recovered: int = 0
    unknown_classes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    unnamed: int = 0
    refused: list[str] = field(default_factory=list)

    def count_input(self, item: InputItem) -> None:
        """Count what was read; what became of a failure is counted when it is sent."""
        match item:
            case EmptyFile(problem):
                self.problems.append(problem)
            case RejectedFile(problem):
                self.refused.append(problem)
            case MalformedRow(problem):
                self.rows += 1
                self._count_malformed(problem)
            case RowWithoutFailure():
                self.rows += 1
                self.not_a_failure += 1
            case SavedAttempt(attempt):
                self.rows += 1
                self._count_class(attempt.failure_class)
            case JournalFailure():
                self.rows += 1

    def _count_malformed(self, problem: str) -> None:
        self.malformed += 1
        if self.malformed <= _MAX_NAMED:
            self.problems.append(problem)
        else:
            self.unnamed += 1

    def _count_class(self, failure_class: str | None) -> None:
        if failure_class is None or is_known_class(failure_class):
            return
        if failure_class in self.unknown_classes or len(self.unknown_classes) < _MAX_CLASSES:
            self.unknown_classes[failure_class] += 1
