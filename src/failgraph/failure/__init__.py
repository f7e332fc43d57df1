"""Failure records and what they are made of. Pure data, no I/O."""
