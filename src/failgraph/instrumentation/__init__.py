"""Hooks that attach failgraph to OpenTelemetry, web frameworks, HTTP clients and NeMo Gym.

The application's code needs no change. `startup` runs in every interpreter that has
`FAILGRAPH_ENABLED` set, so this package itself imports nothing.
"""
