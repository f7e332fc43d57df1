"""A pytest fixture for people's own tests: the failures that were recorded while the test ran, as a readable tree.

    def test_a_slow_model_fails_the_rollout(failures):
        run_rollout(model=too_slow)
        assert failures.tree() == [
            "collection agent_request_failed",
            "  agent agent_run_error",
            "    model transport_timeout",
        ]

pytest finds it by itself once failgraph is installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from failgraph.failure.records import FailureEvent, FailureReport
    from failgraph.recording.recorder import Recorder

__all__ = ["Failures", "failures"]


class Failures:
    """The failures recorded so far, each once, in the order in which they were recorded; deferred ones too."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._events: dict[str, FailureEvent] = {}

    def _all(self) -> dict[str, FailureEvent]:
        self._recorder.drain()
        return self._events

    def add(self, event: FailureEvent) -> None:
        """Take one more failure."""
        self._events.setdefault(event.event_id, event)

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[FailureEvent]:
        return iter(list(self._all().values()))

    def __str__(self) -> str:
        return "\n".join(self.tree())

    @property
    def kinds(self) -> list[str]:
        """The kind of each failure, in order."""
        return [event.failure_kind for event in self]

    def report(self) -> FailureReport:
        """All of them as one report, without an own failure."""
        from failgraph.failure.closing import close_map
        from failgraph.failure.records import FailureReport

        return FailureReport(events=close_map(self._all()))

    def tree(self, *, reasons: bool = False) -> list[str]:
        """Each failure that caused no other, with its causes indented below it, as `boundary kind` lines.

        `reasons` adds each reason. A cause that several share stands below each. No ids and no times, so that it can be
        compared.
        """
        events = self.report().events
        causes = {event.cause_id for event in events.values()}
        lines: list[str] = []
        for event_id in events:
            if event_id in causes:
                continue
            indent, here = "", events[event_id]
            while True:
                reason = f": {here.failure_reason}" if reasons and here.failure_reason else ""
                lines.append(f"{indent}{here.boundary.value} {here.failure_kind}{reason}")
                if here.cause_id is None:
                    break
                indent, here = indent + "  ", events[here.cause_id]
        return lines


@pytest.fixture
def failures() -> Iterator[Failures]:
    """The failures that are recorded while the test runs, from whichever thread, task or hop, traced or not."""
    from failgraph.recording.api import watching
    from failgraph.recording.recorder import recorder

    recorder().drain()
    found = Failures(recorder())
    with watching(found.add):
        yield found
