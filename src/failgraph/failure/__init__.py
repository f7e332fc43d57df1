"""Failure records, and what they are made of: pure data, no I/O."""
