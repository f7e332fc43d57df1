"""The rollouts of the demo, and the fault of each."""

from __future__ import annotations

from typing import NamedTuple


class Rollout(NamedTuple):
    """One rollout.

    Attributes:
        id: Its rollout id.
        provider: How the model's provider behaves: a key of `faults.external_services`.
        program: The Python program that the sandbox runs.
        judge: How the judge behaves: a key of `faults.external_services`.
        verdict: What the judge answers, if it does.
    """

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
