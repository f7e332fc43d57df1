"""A pytest fixture: the failures that were recorded during a test, as a readable tree.

    def test_a_slow_model_fails_the_rollout(failures):
        run_rollout(model=too_slow)
        assert failures.tree() == [
            "collection agent_request_failed",
            "  agent agent_run_error",
            "    model transport_timeout",
        ]

pytest finds the fixture by itself once failgraph is installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from failgraph.failure.records import FailureEvent, FailureReport
    from failgraph.recording.recorder import Recorder

__all__ = ["Failures", "failures"]


class Failures:
    """The failures recorded so far, also deferred ones: each once, in the order of recording."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._events: dict[str, FailureEvent] = {}

    def _all(self) -> dict[str, FailureEvent]:
        """Return all failures by event id. Deferred ones are written first."""
        self._recorder.drain()
        return self._events

    def add(self, event: FailureEvent) -> None:
        """Add a failure, unless it is there already."""
        self._events.setdefault(event.event_id, event)

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[FailureEvent]:
        return iter(list(self._all().values()))

    def __str__(self) -> str:
        return "\n".join(self.tree())

    @property
    def kinds(self) -> list[str]:
        """The kind of each failure, in the order of recording."""
        return [event.failure_kind for event in self]

    def report(self) -> FailureReport:
        """Return all failures as one report, without an own failure."""
        from failgraph.failure.closing import close_map
        from failgraph.failure.records import FailureReport

        return FailureReport(events=close_map(self._all()))

    def tree(self, *, reasons: bool = False) -> list[str]:
        """Return one `boundary kind` line for each failure, with its cause indented below it.

        The first level has the failures that caused no other. A cause of several failures is below
        each of them. The lines have no ids and no times, so that tests can compare them.

        Args:
            reasons: True to add the reason to each line.
        """
        events = self.report().events
        causes = {event.cause_id for event in events.values()}
        lines: list[str] = []
        for event_id in events:
            if event_id not in causes:
                lines += _chain(events, event_id, reasons=reasons)
        return lines


def _chain(events: Mapping[str, FailureEvent], event_id: str, *, reasons: bool) -> Iterator[str]:
    """Yield the line of a failure, then those of its chain of causes."""
    indent = ""
    cause_id: str | None = event_id
    while cause_id is not None:
        event = events[cause_id]
        line = f"{indent}{event.boundary.value} {event.failure_kind}"
        yield f"{line}: {event.failure_reason}" if reasons and event.failure_reason else line
        indent, cause_id = indent + "  ", event.cause_id


@pytest.fixture
def failures() -> Iterator[Failures]:
    """Provide the failures recorded during the test, in any thread, task or hop, traced or not."""
    from failgraph.recording.api import watching
    from failgraph.recording.recorder import recorder

    recorder().drain()
    recorded = Failures(recorder())
    with watching(recorded.add):
        yield recorded
