"""The current span and hop of the running code."""

from __future__ import annotations

import asyncio
import time

import pytest
from opentelemetry import trace

import failgraph
from builders import failure
from failgraph import FailureBoundary
from failgraph.context import current_hop, current_moment, server_boundary


class Hop:
    """A hop as the protocol asks for it."""

    def __init__(self, boundary: FailureBoundary | None = None) -> None:
        self.boundary = boundary
        self.created: list[BaseException] = []
        self.dropped: list[BaseException] = []

    def on_failure_created(self, error: BaseException) -> None:
        self.created.append(error)

    def on_failure_dropped(self, error: BaseException) -> None:
        self.dropped.append(error)


@pytest.fixture
def hop():
    """Return the current hop of this test."""
    hop = Hop(FailureBoundary.MODEL)
    token = current_hop.set(hop)
    yield hop
    current_hop.reset(token)


def test_a_moment_outside_of_everything_has_neither_span_nor_hop():
    """Its time is that of the clock."""
    before = time.time_ns()
    moment = current_moment()
    assert (moment.span, moment.hop) == (None, None)
    assert before <= moment.time_unix_nano <= time.time_ns()


def test_a_moment_has_the_current_span_and_hop(tracer, hop):
    """Of nested spans it is the inner one."""
    with tracer.start_as_current_span("outer"), tracer.start_as_current_span("inner") as inner:
        moment = current_moment()
    assert moment.span is inner
    assert moment.hop is hop


def test_a_span_that_records_nothing_counts_if_its_context_is_valid():
    """An unsampled span has a trace, too; the default span of OpenTelemetry has none."""
    context = trace.SpanContext(1, 2, is_remote=False)
    unsampled = trace.NonRecordingSpan(context)
    with trace.use_span(unsampled):
        assert current_moment().span is unsampled
    with trace.use_span(trace.INVALID_SPAN):
        assert current_moment().span is None


def test_the_boundary_is_that_of_the_hop(hop):
    """None outside of a hop, and in a hop of no Gym server."""
    assert server_boundary() is FailureBoundary.MODEL
    hop.boundary = None
    assert server_boundary() is None
    current_hop.set(None)
    assert server_boundary() is None


def test_a_new_failure_tells_the_current_hop(hop):
    """Only the one in which it was made."""
    error = failure()
    assert hop.created == [error]
    current_hop.set(None)
    failure()
    assert hop.created == [error]


def test_each_task_has_its_own_current_hop():
    """A hop that one task opens is not the current one of another that runs meanwhile."""

    async def work() -> list[object]:
        with failgraph.hop():
            mine = current_hop.get()
            await asyncio.sleep(0.01)
            assert current_hop.get() is mine
            return [mine]

    async def both() -> list[list[object]]:
        return await asyncio.gather(work(), work())

    (one,), (other,) = asyncio.run(both())
    assert one is not None
    assert one is not other
    assert current_hop.get() is None
