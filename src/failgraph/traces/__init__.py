"""Spans as failure graphs."""
