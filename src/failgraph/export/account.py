"""What became of each row that was read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_MAX_NAMED = 20
_MAX_CLASSES = 1000


@dataclass(slots=True)
class Account:
    """Counts whose sum is `rows`."""

    into_file: bool = True
    """Whether the target could be asked what it has: a file, not an endpoint."""
    rows: int = 0
    imported: int = 0
    already_there: int = 0
    not_a_failure: int = 0
    malformed: int = 0
    not_sent: int = 0
    """Rows that the target did not take; those behind them are not read."""
    recovered: int = 0
    """Of the imported: attempts that scored in spite of their failures."""
    unknown_classes: Counter[str] = field(default_factory=Counter)
    """Failure classes that Gym's table does not have, kept as they are, with the number of their rows."""
    problems: list[str] = field(default_factory=list)
    """Sentences on the first few rows that could not be read, and on files without any."""
    unnamed: int = 0
    """Rows that could not be read, and that no sentence names."""
    refused: list[str] = field(default_factory=list)
    """Sentences on files that could not be read or hold something else, and on a target that took no more."""

    def malform(self, where: str) -> None:
        """A row cannot be read."""
        self.rows += 1
        self.malformed += 1
        if self.malformed <= _MAX_NAMED:
            self.problems.append(where)
        else:
            self.unnamed += 1

    def meet_unknown(self, failure_class: str) -> None:
        """A row names a class that the table does not have."""
        if failure_class in self.unknown_classes or len(self.unknown_classes) < _MAX_CLASSES:
            self.unknown_classes[failure_class] += 1
