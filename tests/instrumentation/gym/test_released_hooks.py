"""Hooks on each NeMo Gym release, in process: which targets it has, and that each hook works."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from gym_fleet import HERE, overlay
from real_programs import require

pytestmark = pytest.mark.needs("gym")

SINCE_060 = [
    "nemo_gym.rollout_collection._agent_request_failure_row",
    "nemo_gym.sandbox.api.SandboxPty.exec",
]
SINCE_070 = ["nemo_gym.rollout_collection.RolloutCollectionHelper._run_from_config"]
MISSING = {"0.7.0": [], "0.6.0": SINCE_070, "0.5.1": [*SINCE_070, *SINCE_060]}


@pytest.fixture(scope="module", params=list(MISSING))
def hooked(request, tmp_path_factory) -> tuple[str, dict[str, Any]]:
    version = request.param
    before = "" if version == "0.7.0" else f"gym-{version}"
    python = overlay(tmp_path_factory.mktemp("hooked"), require("gym"), before=before)
    config = json.dumps({"head_server": {"host": "127.0.0.1", "port": 1}, "dry_run": False})
    environ = {
        "FAILGRAPH_ENABLED": "true",
        "NEMO_GYM_CONFIG_DICT": config,
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [python, HERE / "hooked.py"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return version, json.loads(done.stdout.splitlines()[-1])


def test_missing_targets_are_named_and_the_rest_is_hooked(hooked):
    """Only the targets that this release lacks are missing."""
    version, found = hooked
    assert found["missing"] == sorted(MISSING[version])


def test_each_hook_works(hooked):
    """A verification, its judge and its sandbox fail, and a call gets no reply."""
    version, found = hooked
    verifier = "resources_server verifier_error verification"
    assert found["found"] == {
        "verify": [500, verifier],
        "judge": [200, "resources_server judge_failed verification"],
        "sandbox": [500, "sandbox provider_unavailable -", verifier],
        "rollout": "3-1",
        "refused": ["collection transport_unreachable -"],
        **({} if version == "0.5.1" else {"row": ["collection agent_request_failed -"]}),
    }
