"""Messages of a command, on stderr: everything that is not a result."""

from __future__ import annotations

import os
import sys

from failgraph.text import sanitize

_MAX_LENGTH = 2000  # characters of one message


def print_message(text: str) -> None:
    """Print one line of failgraph's own words."""
    print(f"failgraph: {sanitize(text, _MAX_LENGTH)}", file=sys.stderr)


def print_redacted(text: str) -> None:
    """Print one line that may hold the user's text, without secrets.

    The settings that say what is secret must be usable: check them first.
    """
    print_message(redacted(text))


def redacted(text: str) -> str:
    """Return a text as one line without secrets."""
    from failgraph.redaction.display import display  # loads pydantic, too slow for --help

    return display(text, _MAX_LENGTH)


def discard_stdout() -> None:
    """Send the rest of stdout nowhere, so that Python does not fail once more when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
