"""Fast paths of the readers: spans that are not needed are skipped, except for ids and times."""
