"""Saved rows and journals as traces in a file or at an OTLP endpoint, with a count of every row."""
