"""What failgraph costs, as ratios to what does the same work without it; see `__main__`. No tests."""
