"""The commands that start programs: `demo`, `run`."""

from __future__ import annotations

import argparse
import os

from failgraph.cli.exit_codes import DONE, FINDING, WRONG_USE
from failgraph.cli.messages import print_message, print_redacted
from failgraph.settings.names import ENABLED


def run(arguments: argparse.Namespace) -> int:
    """Become the program, with the variable set; comes back only where that cannot be done."""
    argv = arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv
    if not argv:
        print_message("run what? failgraph run -- COMMAND [ARGUMENT ...]")
        return WRONG_USE
    try:
        os.execvpe(argv[0], argv, {**os.environ, ENABLED: "true"})  # noqa: S606 - it is what was asked for
    except (OSError, ValueError) as error:
        print_redacted(f"cannot run {argv[0]!r}: {getattr(error, 'strerror', None) or error}")
    return WRONG_USE


def demo(arguments: argparse.Namespace) -> int:
    """Run the demo."""
    from failgraph.cli.output import draw_trees  # `run` does without

    try:
        from failgraph.demo.command import check_requirements, run

        check_requirements()
    except ImportError as error:
        print_message(
            f"the demo needs {error.name} and the rest of failgraph[demo]: pip install 'failgraph[demo]'"
        )
        return WRONG_USE
    return DONE if run(arguments.out, draw_trees) else FINDING
