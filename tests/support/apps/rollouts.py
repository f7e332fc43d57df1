"""The collector of the fleet: `python rollouts.py SEED COUNT PORTS`.

It runs many rollouts at once, each a random plan.
"""

import asyncio
import json
import random
import sys

import fleet
from opentelemetry import trace

import failgraph

FAULTS = ["raise", "chain", "busy", "recover", "own", "background", "stream"]


class Planner:
    """Makes random plans from one seed. Every request has a number of its own."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.number = 0

    def plan(self, depth: int) -> dict:
        self.number += 1
        plan = {"number": self.number, "calls": []}
        chance = self.random.random
        if depth and chance() < 0.8:
            plan["together"] = chance() < 0.25
            plan["calls"] = [self.call(depth - 1) for _ in range(self.random.randint(1, 3))]
        if chance() < 0.35:
            plan["fault"] = self.random.choice(FAULTS)
        elif chance() < 0.03:
            plan["fault"] = "many"
        return plan

    def call(self, depth: int) -> dict:
        to = self.random.choice(["model", "agent", "resources", "environment"])
        what = {
            "to": to,
            "plan": self.plan(depth),
            "how": self.random.choice(["raise", "raise", "swallow"]),
        }
        if what["how"] == "swallow":
            what["tries"] = self.random.choice([1, 2])
        if not what["plan"]["calls"] and self.random.random() < 0.05:
            what["plan"]["fault"], what["timeout"] = "slow", 0.4
        return what


async def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    fleet.PORTS.update(json.loads(sys.argv[3]))
    fleet.provide()
    tracer = trace.get_tracer("collector")
    planner = Planner(seed)
    planned = [planner.call(2) for _ in range(count)]
    async with fleet.client() as client:

        async def rollout(what: dict) -> None:
            with tracer.start_as_current_span("rollout") as span:
                span.set_attribute("nemo.gym.rollout.id", str(what["plan"]["number"]))
                try:
                    with failgraph.hop():
                        await fleet.call(client, what)
                except failgraph.NgFailureEvent:
                    pass

        await asyncio.gather(*map(rollout, planned))
    # Requests that were abandoned, and background tasks, are still running.
    await asyncio.sleep(2)
    failgraph.flush(20)


asyncio.run(main())
