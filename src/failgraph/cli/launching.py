"""The commands that start programs: `demo` and `run`."""

from __future__ import annotations

import argparse
import os

from failgraph.cli.exit_codes import CANNOT_RUN, DONE, NO_PROGRAM, NO_SOURCE, WRONG_USE
from failgraph.cli.messages import print_message, print_redacted
from failgraph.settings.names import ENABLED


def run(arguments: argparse.Namespace) -> int:
    """Replace this process by the given program, with failgraph enabled.

    Returns:
        The exit code if the program cannot be started: that of shells.
    """
    argv = arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv
    if not argv:
        print_message("no program given. Usage: failgraph run -- COMMAND [ARGUMENT ...]")
        return WRONG_USE
    try:
        os.execvpe(argv[0], argv, {**os.environ, ENABLED: "true"})  # noqa: S606 - what was asked for
    except (OSError, ValueError) as error:
        print_redacted(f"cannot run {argv[0]}: {_reason(error)}")
        return NO_PROGRAM if isinstance(error, FileNotFoundError) else CANNOT_RUN


def _reason(error: OSError | ValueError) -> str:
    """Return why a program cannot be started, and what to do."""
    if isinstance(error, FileNotFoundError):
        return "no such program. Check its name and PATH."
    if isinstance(error, PermissionError):
        return "permission denied. Is it an executable file?"
    return getattr(error, "strerror", None) or str(error)


def demo(arguments: argparse.Namespace) -> int:
    """Run the demo and return the exit code."""
    from failgraph.cli.output import draw_trees  # slow to load, and not needed for `run`

    try:
        from failgraph.demo.command import check_requirements, run

        check_requirements()
    except ImportError as error:
        print_message(f"the demo needs {error.name}. Run: pip install 'failgraph[demo]'")
        return WRONG_USE
    return DONE if run(arguments.output, draw_trees) else NO_SOURCE
