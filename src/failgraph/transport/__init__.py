"""Failure reports between processes, as reply headers.

A server sends its report to peers that ask for it, and a client believes a report only from a peer
that it asked.
"""
