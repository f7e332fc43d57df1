"""The command `doctor`."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Iterator

from failgraph.cli.codes import DONE, FINDING
from failgraph.cli.output import print_lines
from failgraph.diagnostics import logger
from failgraph.doctor import Ask, Check, checks
from failgraph.readers import read
from failgraph.view.picture import Line, Part

_ROLES = {"ok": "quiet", "note": "lost", "problem": "own"}


def doctor(arguments: argparse.Namespace) -> int:
    """Look at everything, and say it as it is found."""
    found = []
    # What failgraph would log is among the checks.
    logger.addHandler(logging.NullHandler())

    def seen() -> Iterator[Check]:
        for check in checks(os.environ, arguments.source, _ask(arguments.source)):
            found.append(check.state)
            yield check
            sys.stdout.flush()

    if arguments.json:
        for check in seen():
            print(json.dumps(check._asdict()))
    else:
        print_lines(_lines(seen()))
    return FINDING if "problem" in found else DONE


def _lines(found: Iterator[Check]) -> Iterator[Line]:
    part = None
    for check in found:
        if check.part != part:
            part = check.part
            yield [Part(part, "name")]
        yield [Part(f"  {check.state:<9}", _ROLES[check.state]), Part(check.text)]


def _ask(source: str | None) -> Ask | None:
    """Reads a trace back from where `source` is."""
    if source is None:
        return None
    return lambda trace_id: read(source)  # noqa: ARG005
