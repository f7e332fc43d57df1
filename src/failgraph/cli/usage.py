"""The parser's messages for wrong use: one line that says what is wrong, and where the help is."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from failgraph.cli.exit_codes import WRONG_USE
from failgraph.cli.messages import print_redacted
from failgraph.text import did_you_mean

# How messages of argparse begin, and what follows the name of an argument in one.
_MISSING = "the following arguments are required: "
_ARGUMENT = "argument "
_CONFLICT = "not allowed with argument "


class CommandParser(argparse.ArgumentParser):
    """A parser that takes options by their whole names only, and prints no usage for an error.

    An abbreviation would take an old name for a new one that begins with it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Print a message without secrets, and exit with 2."""
        print_redacted(f'{_plain(message)}. Run "{self.prog} --help".')
        self.exit(WRONG_USE)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse arguments, and exit with 2 if some are unknown.

        Each command's parser does this itself, since only that one knows the command's options.
        """
        arguments, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self.unknown_argument(unknown))
        return arguments, unknown

    def unknown_argument(self, unknown: Sequence[str]) -> str:
        """Return the message for arguments that the parser does not know."""
        options = [argument for argument in unknown if argument.startswith("-")]
        if not options:
            return f"unexpected argument {unknown[0]}"
        name = options[0].partition("=")[0]
        return f"unknown option {name}{did_you_mean(name, self._option_string_actions)}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Exit with 2 if a value is none of the choices of an option, or no command."""
        if action.choices is None or value in action.choices:
            return
        what = "command" if action.dest == argparse.SUPPRESS else action.dest
        suggestion = did_you_mean(value, action.choices)
        self.error(f"unknown {what} {value}{suggestion or _all_of(action.choices)}")


def _plain(message: str) -> str:
    """Return a message of argparse in plain words. Values in it stay as they are."""
    if message.startswith(_MISSING):
        return f"missing {message.removeprefix(_MISSING)}"
    if not message.startswith(_ARGUMENT):
        return message
    name, _, problem = message.removeprefix(_ARGUMENT).partition(": ")
    if problem == "expected one argument":
        return f"{name} needs a value"
    if problem.startswith(_CONFLICT):
        return f"{name} cannot be combined with {problem.removeprefix(_CONFLICT)}"
    is_sentence = problem.startswith(("must be ", "cannot be "))
    return f"{name} {problem}" if is_sentence else f"{name}: {problem}"


def _all_of(choices: Iterable[str]) -> str:
    *others, last = choices
    return f"; choose from {', '.join(others)} or {last}"
