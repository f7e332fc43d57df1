"""The errors that failgraph raises where raising is right: in commands and when a source is read.

    FailgraphError
    ├── ConfigError    settings that cannot be used, all of them at once
    └── SourceError    a source that cannot be read, holds no trace, or not the requested one

Inside a user's program, while a failure is recorded, failgraph raises nothing.
"""

from __future__ import annotations

__all__ = ["ConfigError", "FailgraphError", "SourceError"]


def reason_of(error: OSError) -> str:
    """Return why the system refused something, as a part of a sentence."""
    text = error.strerror or str(error)
    return f"{text[:1].lower()}{text[1:]}"


class FailgraphError(Exception):
    """Base class of all errors that failgraph raises."""


class ConfigError(FailgraphError):
    """Settings cannot be used.

    Attributes:
        problems: One sentence for each problem.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "; ".join(self.problems)


class SourceError(FailgraphError):
    """A source of traces cannot be read, or does not hold what was asked for."""
