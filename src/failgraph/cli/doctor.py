"""The command `doctor`."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from failgraph.backends import address_of, read_backend
from failgraph.cli.exit_codes import DONE, FINDING
from failgraph.cli.output import print_lines
from failgraph.cli.source import source_name
from failgraph.errors import SourceError
from failgraph.readers import Reading, read
from failgraph.redaction.display import display
from failgraph.settings import current
from failgraph.traces.query import Query
from failgraph.view.lines import Line, Segment

if TYPE_CHECKING:
    from failgraph.doctor import CheckResult, TraceSource

_ROLES = {"ok": "quiet", "note": "lost", "problem": "own"}  # roles of view.lines.Segment


def doctor(arguments: argparse.Namespace) -> int:
    """Run all checks, print each as soon as it is done, and return the exit code.

    Raises:
        SourceError: SOURCE is not a file, a backend or a URL.
    """
    from failgraph.doctor import run_checks  # loads OpenTelemetry's SDK

    # Keeps Python from printing log lines: failgraph's are among the checks, and OpenTelemetry's
    # may contain values of its variables.
    logging.getLogger().addHandler(logging.NullHandler())
    source = None if arguments.source is None else _trace_source(arguments.source)
    results: list[CheckResult] = []
    for result in run_checks(os.environ, source):
        if arguments.json:
            print(json.dumps(result._asdict()))
        else:
            is_new_part = not results or results[-1].part != result.part
            print_lines(_lines(result, with_part=is_new_part))
        sys.stdout.flush()
        results.append(result)
    problems = sum(result.state == "problem" for result in results)
    if not arguments.json:
        print_lines([_summary(problems)])
    return FINDING if problems else DONE


def _lines(result: CheckResult, *, with_part: bool) -> Iterable[Line]:
    if with_part:
        yield [Segment(result.part, "name")]
    yield [Segment(f"  {result.state:<9}", _ROLES[result.state]), Segment(result.text)]


def _summary(problems: int) -> Line:
    count = f"{problems or 'no'} {'problem' if problems == 1 else 'problems'}"
    return [Segment(count, _ROLES["problem" if problems else "ok"])]


def _trace_source(given: str) -> TraceSource:
    """Return a source for the round trip: a backend, or a file that a Collector writes."""
    from failgraph.doctor import TraceSource

    address = address_of(given, current(), os.path.exists)

    def read_trace(trace_id: str) -> Reading:
        if address is None:
            return _read_so_far(given)
        return read_backend(address._replace(trace_id=trace_id), Query(), current()).reading

    return TraceSource(display(source_name(given, address)), read_trace)


def _read_so_far(path: str) -> Reading:
    """Read a file that a Collector may still be writing, so that it may have no trace yet."""
    try:
        return read(path)
    except SourceError:
        if not os.path.isfile(path):
            raise
    return Reading([], {}, {}, ())
