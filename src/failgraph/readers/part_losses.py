"""What several files that are read as one source have lost, and which of them have no traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from failgraph.errors import SourceError
from failgraph.losses import Loss
from failgraph.readers.file_pass import NoTraceError
from failgraph.readers.source import SourceFile
from failgraph.readers.summary import SourceSummary

_MAX_NAMED = 3  # files without a trace in one message


@dataclass(slots=True)
class Part:
    """A file that is read with others, and what was found in it.

    Attributes:
        file: The file.
        summary: What the first pass over it found.
        error: Why it contains no trace, or None if it does.
    """

    file: SourceFile
    summary: SourceSummary = field(default_factory=SourceSummary)
    error: SourceError | None = None

    @property
    def is_foreign(self) -> bool:
        """True if nothing is lost with it: it is empty, or of another kind and in a directory."""
        if not isinstance(self.error, NoTraceError):
            return False
        summary = self.summary
        if not (summary.documents or summary.bad_lines or summary.is_protobuf):
            return True
        if not self.file.is_member:
            return False
        is_damaged = summary.is_damaged_gzip or (summary.bad_lines > 0 and not summary.documents)
        is_damaged |= summary.bad_lines > 0 and (summary.rows > 0 or "traces" in summary.signals)
        return not is_damaged


def unused_files(parts: Iterable[Part]) -> tuple[str, ...]:
    """Return a text for each file of another kind: its name, and what it contains instead."""
    return tuple(
        f"{part.file.name} ({part.summary.no_trace_reason()})" for part in parts if part.is_foreign
    )


def names_parts(parts: Sequence[Part]) -> bool:
    """Return True if losses have to name their file."""
    return len({part.file.name for part in parts}) > 1


def file_losses(part: Part, *, with_name: bool) -> Iterator[Loss]:
    """Yield the losses of one file that do not belong to one of its traces."""
    if part.is_foreign:
        return
    losses = part.summary.losses
    if part.error is not None:  # it says more than each of the bad lines
        losses = [loss for loss in losses if loss.kind != "bad_line"]
        yield Loss("bad_line", _problem(part.error))
    yield from named(losses, part.file.name if with_name else None)


def named(losses: Iterable[Loss], name: str | None) -> Iterator[Loss]:
    """Yield losses with the name of their file in front, or as they are if it is None."""
    for loss in losses:
        yield loss if name is None else loss._replace(detail=f"{name}: {loss.detail}")


def no_trace_error(errors: Sequence[SourceError], unopened: Sequence[str] = ()) -> SourceError:
    """Return the error for a source without any trace.

    Args:
        errors: Why each of its files contains none.
        unopened: A sentence for each file that cannot be opened.
    """
    if len(errors) == 1 and not unopened:
        return errors[0]
    problems = [*map(_problem, errors), *unopened]
    rest = len(problems) - _MAX_NAMED
    more = [f"and {rest} more files without a trace"] if rest > 0 else []
    return SourceError("; ".join([*problems[:_MAX_NAMED], *more]))


def _problem(error: SourceError) -> str:
    """Return an error without its advice, which would break a list of errors."""
    return error.problem if isinstance(error, NoTraceError) else str(error)
