"""Failures as exceptions, and exceptions as failures."""
