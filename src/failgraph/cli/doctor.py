"""The command `doctor`."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from failgraph.backends import address_of, read_backend
from failgraph.cli.exit_codes import DONE, FINDING
from failgraph.cli.output import print_lines
from failgraph.cli.source import called
from failgraph.errors import SourceError
from failgraph.readers import Reading, read
from failgraph.redaction.display import display
from failgraph.settings import current
from failgraph.traces.query import Query
from failgraph.view.lines import Line, Segment

if TYPE_CHECKING:
    from failgraph.doctor import Ask, Check

_ROLES = {"ok": "quiet", "note": "lost", "problem": "own"}


def doctor(arguments: argparse.Namespace) -> int:
    """Look at everything, and say it as it is found. Raises SourceError where the backend's name is none."""
    from failgraph.doctor import checks  # which brings OpenTelemetry's SDK along

    # What failgraph would log is among the checks; what OpenTelemetry logs may hold the values of its variables.
    logging.getLogger().addHandler(logging.NullHandler())
    backend, ask = (None, None) if arguments.source is None else _ask(arguments.source)
    problems = 0

    def seen() -> Iterator[Check]:
        nonlocal problems
        for check in checks(os.environ, backend, ask):
            problems += check.state == "problem"
            yield check
            sys.stdout.flush()

    if arguments.json:
        for check in seen():
            print(json.dumps(check._asdict()))
    else:
        print_lines(_lines(seen()))
        said = f"{problems or 'no'} {'problem' if problems == 1 else 'problems'}"
        print_lines([[Segment(said, _ROLES["problem" if problems else "ok"])]])
    return FINDING if problems else DONE


def _lines(found: Iterator[Check]) -> Iterator[Line]:
    part = None
    for check in found:
        if check.part != part:
            part = check.part
            yield [Segment(part, "name")]
        yield [Segment(f"  {check.state:<9}", _ROLES[check.state]), Segment(check.text)]


def _ask(source: str) -> tuple[str, Ask]:
    """What messages call `source`, which may also be a file that a Collector writes, and what reads a trace from it."""
    address = address_of(source, current(), os.path.exists)

    def ask(trace_id: str) -> Reading:
        if address is None:
            return _so_far(source)
        return read_backend(address._replace(trace_id=trace_id), Query(), current())[0]

    return display(called(source, address)), ask


def _so_far(path: str) -> Reading:
    """What a file holds; that it has no trace, or only a beginning of one, is no error while somebody may write it."""
    try:
        return read(path)
    except SourceError:
        if not os.path.isfile(path):
            raise
    return Reading([], {}, {}, ())
