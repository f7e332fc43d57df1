"""Messages of a command: everything that is not a result goes to standard error."""

from __future__ import annotations

import os
import sys

from failgraph.text import sanitize

_MAX_LENGTH = 2000  # characters of a message


def print_message(text: str) -> None:
    """Print a message in one line. It must not contain secrets."""
    print(f"failgraph: {sanitize(text, _MAX_LENGTH)}", file=sys.stderr)


def print_redacted(text: str) -> None:
    """Print a message in one line, without secrets."""
    print_message(redacted(text))


def redacted(text: str) -> str:
    """Return a text in one line, without secrets. The settings for redaction must be valid."""
    from failgraph.redaction.display import display  # loads pydantic, too slow for --help

    return display(text, _MAX_LENGTH)


def discard_stdout() -> None:
    """Redirect standard output to /dev/null, so that Python can close it without another error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
