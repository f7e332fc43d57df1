"""Hooks in NeMo Gym's servers and its collector.

Released Gym tells of failures only in texts and statuses. The hooks record what its code observes
as failures. `released` and `upcoming` name what is hooked, one module for each generation of Gym;
`vocabulary` says what Gym's words mean. Importing this package imports nothing.
"""
