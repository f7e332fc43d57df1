"""Forks, threads, greenlets, signals and finalizers: none lost, none twice, no deadlock."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from journals import ids
from programs import APPS

GEVENT = pytest.mark.skipif(
    importlib.util.find_spec("gevent") is None, reason="this set has no gevent"
)


@pytest.mark.parametrize(
    "program",
    [
        "fork_while_recording",
        pytest.param("gevent", marks=GEVENT),
        "deferred_in_a_signal_handler",
        "plain_in_a_signal_handler",
        "deferred_in_a_finalizer",
    ],
)
def test_whatever_happens_at_once_each_failure_is_there_once(tmp_path, program):
    """Each is in the journal and, if it is looked at, in the export; a deadlock ends the test."""
    environ = {
        **os.environ,
        "FAILGRAPH_JOURNAL": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[1] / "support"),
    }
    command = [sys.executable, str(APPS / "crowded.py"), program]
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert len(found["recorded"]) > 100
    assert sorted(ids(tmp_path)) == sorted(found["recorded"])
    assert not {"internal_error", "journal_lost"} & found["stats"].keys(), found["stats"]
    if "deferred" in program:
        assert sum(each.startswith(("signal", "dying")) for each in found["recorded"]) > 50
