"""`alerts.yaml` in Prometheus' real promtool: which alerts fire, when, and their texts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shipped import CONFIG

pytestmark = pytest.mark.needs("promtool")


@pytest.mark.parametrize(
    "words",
    [
        ("check", "rules", CONFIG / "alerts.yaml"),
        ("check", "config", CONFIG / "prometheus.yaml"),
        ("test", "rules", Path(__file__).parents[1] / "support" / "alerts.test.yaml"),
    ],
    ids=["rules", "config", "what rings"],
)
def test_promtool_finds_nothing_wrong(words):
    """Rules and configuration are valid; test series fire the expected alerts and no others."""
    ran = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
