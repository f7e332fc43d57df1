"""What Gym saved on disk as traces: rows to spans, spans to a file or an endpoint, and an account of every row."""
