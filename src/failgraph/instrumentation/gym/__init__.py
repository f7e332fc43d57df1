"""Hooks in NeMo Gym's servers and its collector.

Released Gym reports failures only as texts and statuses. The hooks record what its code observes as
failure records. `released` and `upcoming` name what is hooked, one module for each generation of
Gym; `vocabulary` translates Gym's words. Importing this package imports nothing.
"""
