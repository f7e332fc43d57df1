"""Spans, saved rows and journals to a file or an OTLP endpoint, with a count of every row."""
