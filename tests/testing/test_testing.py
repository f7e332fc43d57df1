"""The pytest fixture `failures`."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import failgraph
from builders import failure

pytest_plugins = ["pytester"]


def test_failures_are_shown_as_a_tree(failures, tracer):
    """The tree has effects first and causes below; a shared cause is below each of its effects."""
    shared = failure("transport_timeout", boundary="model", failure_reason="slow")
    with tracer.start_as_current_span("work"):
        failgraph.record(failure("agent_run_error", boundary="agent", cause=shared))
        failgraph.record(failure("verifier_error", boundary="resources_server", cause=shared))
    assert failures.tree() == [
        "agent agent_run_error",
        "  model transport_timeout",
        "resources_server verifier_error",
        "  model transport_timeout",
    ]
    assert str(failures).splitlines() == failures.tree()
    assert failures.tree(reasons=True)[1] == "  model transport_timeout: slow"


def test_each_failure_counts_once_with_or_without_a_trace(failures):
    """A failure counts once, also if recorded twice, without a span or in another thread."""
    error = failure("judge_failed", boundary="resources_server")
    thread = threading.Thread(target=failgraph.record, args=(error,))
    thread.start()
    thread.join()
    failgraph.record(error)
    failgraph.record(TimeoutError("slow"), boundary="model")
    assert (len(failures), failures.kinds) == (2, ["judge_failed", "transport_timeout"])
    assert [event.boundary.value for event in failures] == ["resources_server", "model"]
    assert set(failures.report().events) == {event.event_id for event in failures}


@pytest.mark.slow
def test_a_deferred_failure_belongs_to_its_test(failures, pytester):
    """Reading the fixture writes deferred failures, and those of an earlier test do not count."""
    failgraph.record(failure("judge_failed", boundary="agent"), deferred=True)
    assert failures.tree() == ["agent judge_failed"]
    pytester.makepyfile(
        """
        import failgraph

        def test_one():
            failgraph.record(failgraph.NgFailureEvent("shutdown", boundary="agent"), deferred=True)

        def test_two(failures):
            assert failures.kinds == []
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_pytest_finds_the_fixture_by_itself(pytester):
    """A project with failgraph installed has the fixture, which is empty before each test."""
    pytester.makepyfile(
        """
        import failgraph

        def test_one(failures):
            failgraph.record(ValueError("x"), boundary="agent", kind="agent_run_error")
            assert failures.tree() == ["agent agent_run_error"]

        def test_two(failures):
            assert not failures
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_the_plugin_loads_nothing_heavy():
    """pytest loads the plugin in every project, so it loads neither pydantic nor OpenTelemetry."""

    script = (
        "import sys, failgraph.testing;"
        "print([n for n in sys.modules if n.startswith(('pydantic', 'opentelemetry'))])"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
