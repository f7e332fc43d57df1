"""The journal: a local JSON-lines file of failures that outlives its process and its traces."""
