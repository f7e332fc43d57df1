"""The markers that stand in a text for what was removed from it."""

from __future__ import annotations

from typing import Final

MARKER_PREFIX: Final = "[redacted:"
"""How every marker begins."""


def marker(kind: str) -> str:
    """Return the marker for a secret of this kind.

    It is fixed, so that texts that differ only in a secret become equal.
    """
    return f"{MARKER_PREFIX}{kind}]"


HIDDEN: Final = marker("hidden")
"""Stands for a whole text to which the rules could not be applied."""
