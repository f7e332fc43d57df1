"""What Gym saved on disk into traces: rows to spans, spans to a file or an OTLP endpoint, and an account of every row."""
