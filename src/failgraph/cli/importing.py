"""The command `import`: what Gym saved, and what journals hold, as traces."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from failgraph.cli.exit_codes import DONE, NO_SOURCE
from failgraph.cli.messages import harmless, say
from failgraph.cli.output import progress
from failgraph.text import sanitize

if TYPE_CHECKING:
    from failgraph.export.account import Account

_MAX_CLASSES = 10


def import_files(arguments: argparse.Namespace) -> int:
    """Import the files, and say what became of their rows."""
    from failgraph.export.exporting import run  # the other commands do without the SDK

    with progress() as told:
        account = run(arguments.files, arguments.to, os.environ, told)
    print(_summary(account))
    for line in _notes(account):
        say(harmless(line))
    return NO_SOURCE if account.refused else DONE


def _summary(account: Account) -> str:
    """The counts, which add up."""
    parts = [
        f"{account.imported} imported"
        + (f" ({account.recovered} recovered)" if account.recovered else ""),
        f"{account.already_there} already there",
        f"{account.not_a_failure} not a failure",
        f"{account.malformed} malformed",
    ]
    if account.not_sent:
        parts.append(f"{account.not_sent} not taken")
    return f"{account.rows} {'row' if account.rows == 1 else 'rows'}: {', '.join(parts)}"


def _notes(account: Account) -> Iterator[str]:
    """What is to be said besides."""
    yield from account.problems
    if account.unnamed:
        yield f"{account.unnamed} more rows are malformed"
    if account.unknown_classes:
        common = account.unknown_classes.most_common(_MAX_CLASSES)
        named = ", ".join(f"{sanitize(name, 80)} ({count})" for name, count in common)
        more = len(account.unknown_classes) - len(common)
        yield f"failure classes that are not known, kept as they are: {named}{f' and {more} more' if more else ''}"
    if account.imported and not account.into_file:
        yield "an endpoint cannot be asked what it has; what was sent before has the same ids, and is counted once"
    yield from account.refused
