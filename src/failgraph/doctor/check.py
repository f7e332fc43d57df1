"""The result of a check, and the source that a round trip reads from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from failgraph.readers import Reading

State = Literal["ok", "note", "problem"]


class CheckResult(NamedTuple):
    """The result of one check.

    Attributes:
        part: `settings`, `journal`, `attachment`, `endpoint` or `round trip`.
        state: `problem` if failures would be lost or not recorded; `note` if it is worth knowing.
        text: One line for people, safe to show.
        is_notable: True if an `ok` tells something about this setup: it is not a default, or it was
            asked for.
    """

    part: str
    state: State
    text: str
    is_notable: bool = False

    @property
    def is_brief(self) -> bool:
        """True if the result is also shown to somebody who did not ask for all of them."""
        return self.state != "ok" or self.is_notable


class TraceSource(NamedTuple):
    """A backend or file that traces can be read back from.

    Attributes:
        name: Its name in messages, safe to show.
        read: Takes a trace id and returns what the source has of the trace. Raises SourceError.
    """

    name: str
    read: Callable[[str], Reading]
