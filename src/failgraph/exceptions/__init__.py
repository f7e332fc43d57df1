"""Failures as exceptions: the class, cause chains, pickling, and reports made of exceptions."""
