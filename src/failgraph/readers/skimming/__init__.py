"""Fast paths of the readers."""
