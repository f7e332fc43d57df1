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
from failgraph.view.lines import Line, Segment, count_of

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
    problems = 0
    part = None
    for result in run_checks(os.environ, source):
        problems += result.state == "problem"
        if arguments.json:
            row = {"part": result.part, "state": result.state, "text": result.text}
            print(json.dumps(row))
        elif arguments.verbose or result.is_brief:
            print_lines(_lines(result, with_part=result.part != part))
            part = result.part
        sys.stdout.flush()
    if not arguments.json:
        print_lines([_summary(problems, source)])
    return FINDING if problems else DONE


def _lines(result: CheckResult, *, with_part: bool) -> Iterable[Line]:
    if with_part:
        yield [Segment(result.part, "name")]
    yield [Segment(f"  {result.state:<9}", _ROLES[result.state]), Segment(result.text)]


def _summary(problems: int, source: TraceSource | None) -> Line:
    """Return the last line: how many problems there are, and what to do next."""
    if problems:
        count = count_of(problems, "problem", "problems")
        fix = "it" if problems == 1 else "them"
        again = f". Fix {fix}, then run failgraph doctor again (-v prints all checks)."
        return [Segment(count, _ROLES["problem"]), Segment(again)]
    return [Segment("no problems", "name"), Segment(f". {_next_step(source)}")]


def _next_step(source: TraceSource | None) -> str:
    if source is None:
        return "To see that failures arrive, name the backend, such as: failgraph doctor jaeger"
    if current().enabled:
        return f"Failures arrive in {source.name}. Start your program with the same variables."
    return f"Failures arrive in {source.name}. Start your program with: failgraph run -- COMMAND"


def _trace_source(given: str) -> TraceSource:
    """Return what reads a trace from a backend, or from a file that a Collector writes."""
    from failgraph.doctor import TraceSource

    address = address_of(given, current(), os.path.exists)

    def read_trace(trace_id: str) -> Reading:
        if address is None:
            return _read_so_far(given)
        return read_backend(address._replace(trace_id=trace_id), Query(), current()).reading

    return TraceSource(display(source_name(given, address)), read_trace)


def _read_so_far(path: str) -> Reading:
    """Read a file that a Collector may still be writing: without a whole trace it is empty."""
    try:
        return read(path)
    except SourceError:
        if not os.path.isfile(path):
            raise
    return Reading([], {}, {}, ())
