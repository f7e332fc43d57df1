"""Fast paths of the readers: only ids and times are read of spans that nothing more is needed of."""
