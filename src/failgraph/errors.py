"""The errors that failgraph raises where raising is right: at the command line and when a source is read.

    FailgraphError
    ├── ConfigError    settings that cannot be used, all of them at once
    └── SourceError    a source that cannot be read, holds no trace, or not the trace asked for

Inside a user's program, around a failure, nothing is raised at all.
"""

from __future__ import annotations

__all__ = ["ConfigError", "FailgraphError", "SourceError"]


class FailgraphError(Exception):
    """Base of all errors that failgraph raises."""


class ConfigError(FailgraphError):
    """Settings that cannot be used; `problems` holds one sentence for each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class SourceError(FailgraphError):
    """A source of traces that cannot be read, or that does not hold what was asked for."""
