"""Attaching failgraph to what an application already has, from outside of it.

`startup` runs in every interpreter where `FAILGRAPH_ENABLED` is set, so importing this package imports nothing.
"""
