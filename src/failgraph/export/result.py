"""The result of an export: counts of rows and spans, and what went wrong."""

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
    UnreadableSpans,
)
from failgraph.gym_formats.failure_classes import is_known_class

_MAX_NAMED = 20  # malformed rows
_MAX_CLASSES = 1000


@dataclass(slots=True)
class ExportResult:
    """Counts of rows, and one sentence for each thing that went wrong.

    Attributes:
        into_file: True if the target is a file, which tells what it already has.
        rows: Rows and journal lines read: the sum of the next five counts.
        exported: Rows that the target took.
        already_there: Rows that the target already had.
        not_a_failure: Rows without a failure.
        malformed: Rows that cannot be read.
        not_sent: Rows that the target refused. The rows after them are not read.
        recovered: Exported attempts that scored in spite of their failures.
        unknown_classes: Rows by failure class, for classes that Gym's table does not have.
        problems: Sentences about the first malformed rows and about empty files.
        unnamed: Malformed rows without a sentence in `problems`.
        spans: Spans read: the sum of the next four counts.
        spans_exported: Spans that the target took.
        spans_already_there: Spans that the target already had.
        spans_malformed: Spans with a field of a wrong type, which cannot be sent to an endpoint.
        spans_not_sent: Spans that the target refused, and those read with them that come after.
        lost_fields: Names of fields of spans that were exported without them: OpenTelemetry's
            exporters do not send them to an endpoint.
        unused: Sentences about files of directories that hold nothing to export.
        refused: Sentences about files that cannot be read or are something else, and about a
            target that refused rows.
    """

    into_file: bool = True
    rows: int = 0
    exported: int = 0
    already_there: int = 0
    not_a_failure: int = 0
    malformed: int = 0
    not_sent: int = 0
    recovered: int = 0
    unknown_classes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    unnamed: int = 0
    spans: int = 0
    spans_exported: int = 0
    spans_already_there: int = 0
    spans_malformed: int = 0
    spans_not_sent: int = 0
    lost_fields: frozenset[str] = frozenset()
    unused: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def nouns(self) -> tuple[str, str]:
        """What was counted, for one and for several."""
        if not self.spans:
            return "row", "rows"
        return ("span", "spans") if not self.rows else ("row or span", "rows and spans")

    def count_input(self, item: InputItem) -> None:
        """Count a row that was read. What becomes of failures and spans is counted when sent."""
        match item:
            case EmptyFile(problem):
                self.problems.append(problem)
            case RejectedFile(problem):
                self.refused.append(problem)
            case UnreadableSpans(problem):
                self.problems.append(problem)
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

    def close(self) -> None:
        """End the export. Files that hold nothing are an error only if there are no others."""
        if not self.rows and not self.spans:
            self.refused += self.unused
            self.unused = []

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
