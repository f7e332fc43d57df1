"""The rollouts of the demo: what happens to each of them."""

from __future__ import annotations

from typing import NamedTuple


class Rollout(NamedTuple):
    """One rollout: how its model's provider and its judge behave, what the sandbox runs, what the judge says."""

    id: str
    provider: str = "answers"
    program: str = "pass"
    judge: str = "answers"
    verdict: str = '{"score": 1.0}'


ROLLOUTS = (
    Rollout("clean"),
    Rollout("rate-limited", provider="limited"),
    Rollout("quota-exhausted", provider="exhausted"),
    Rollout("model-refused", provider="closed"),
    Rollout("model-timeout", provider="silent"),
    Rollout("sandbox-killed", program="while True: pass"),
    Rollout("judge-timeout", judge="silent"),
    Rollout("judge-unparseable", verdict="Well, I would say 7 of 10."),
)
