"""Gym's own rollout collection, in process, as `python servers.py collect JSON` runs it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import Any


def collect(options: dict[str, Any]) -> None:
    """Collect the rows of `input` into `output`, and print how long that took.

    Args:
        options: `input` and `output`; `timeout` in seconds; `warm`, rows to collect before that;
            `route`, False to end the run at the first failed rollout; `routes` by environment.
    """
    if os.environ.get("NEMO_GYM_OTEL_ENABLED") == "1":
        from nemo_gym.telemetry.setup import init_telemetry

        init_telemetry(server_name="orchestrator", server_type="orchestrator")
    from nemo_gym.rollout_collection import RolloutCollectionConfig, RolloutCollectionHelper

    async def over(rows: str, output: str) -> None:
        config = RolloutCollectionConfig(
            input_jsonl_fpath=rows,
            output_jsonl_fpath=output,
            route_failures_to_sidecar=options.get("route", True),
            disable_health_check=True,
            disable_aggregation=True,
            environment_server_routes=options.get("routes", {}),
        )
        await asyncio.wait_for(
            RolloutCollectionHelper().run_from_config(config), options.get("timeout")
        )

    async def run() -> None:
        if "warm" in options:
            await over(options["warm"], options["warm"] + ".out.jsonl")
        started, worked = time.perf_counter(), time.process_time()
        try:
            await over(options["input"], options["output"])
        except Exception as error:
            print("ended:", type(error).__name__, error)
        print("took:", time.perf_counter() - started, "worked:", time.process_time() - worked)

    asyncio.run(run())
    if os.environ.get("NEMO_GYM_OTEL_ENABLED") == "1":
        from nemo_gym.telemetry.setup import shutdown_telemetry

        shutdown_telemetry()
    sys.stdout.flush()
