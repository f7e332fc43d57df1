"""What a command says besides its results, on stderr."""

from __future__ import annotations

import os
import sys


def say(line: str) -> None:
    """Say something that is no result."""
    print(f"failgraph: {line}", file=sys.stderr)


def harmless(text: str) -> str:
    """A text that may hold anything, in one line that can be said."""
    from failgraph.text import (
        sanitize,
    )  # which brings logging along: nobody waits for it where nothing is wrong

    return sanitize(text, 2000)


def without_secrets(text: str) -> str:
    """The same of a text that may hold a secret; the settings that say what is one must be usable."""
    from failgraph.redaction.display import display

    return display(text, 2000)


def drop_stdout() -> None:
    """Keep Python from complaining once more when it closes a stdout that takes nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
