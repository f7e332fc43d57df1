"""Measure what failgraph costs, as ratios to the same work without it; see `__main__`. No tests."""
