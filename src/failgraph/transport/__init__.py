"""Failure reports between processes: as reply headers, told to peers that ask, believed from peers that were asked."""
