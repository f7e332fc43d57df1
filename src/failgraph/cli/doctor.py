"""The command `doctor`."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from failgraph.backends import BackendRequest, address_of, read_backends
from failgraph.cli.exit_codes import DONE, FINDING
from failgraph.cli.output import print_lines
from failgraph.cli.source import source_name
from failgraph.errors import SourceError
from failgraph.losses import Losses
from failgraph.readers import Reading, read
from failgraph.redaction.display import display
from failgraph.settings import current
from failgraph.view import source_row
from failgraph.view.lines import Line, Segment, count_of

if TYPE_CHECKING:
    from failgraph.doctor import CheckResult

_ROLES = {"ok": "quiet", "note": "lost", "problem": "own"}  # roles of view.lines.Segment


def doctor(arguments: argparse.Namespace) -> int:
    """Run the checks, print each as soon as it is done, and return the exit code.

    Raises:
        SourceError: SOURCE is not a file, a backend or a URL.
    """
    # Keeps Python from printing log lines: failgraph's are among the checks, and OpenTelemetry's
    # may contain values of its variables.
    logging.getLogger().addHandler(logging.NullHandler())
    from failgraph.doctor import TraceSource, run_checks  # loads OpenTelemetry's SDK

    reader = None if arguments.source is None else _TraceReader(arguments.source)
    source = None if reader is None else TraceSource(reader.name, reader.read)
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
    if arguments.json:
        print(json.dumps(_source_row(reader, problems)))
    else:
        print_lines([_summary(problems, reader)])
    return FINDING if problems else DONE


def _lines(result: CheckResult, *, with_part: bool) -> Iterable[Line]:
    if with_part:
        yield [Segment(result.part, "name")]
    yield [Segment(f"  {result.state:<9}", _ROLES[result.state]), Segment(result.text)]


def _summary(problems: int, reader: _TraceReader | None) -> Line:
    """Return the last line: how many problems there are, and what to do next."""
    if problems:
        count = count_of(problems, "problem", "problems")
        fix = "it" if problems == 1 else "them"
        again = f". Fix {fix}, then run failgraph doctor again (-v prints all checks)."
        return [Segment(count, _ROLES["problem"]), Segment(again)]
    return [Segment("no problems", "name"), Segment(f". {_next_step(reader)}")]


def _next_step(reader: _TraceReader | None) -> str:
    if reader is None:
        return "To see that failures arrive, name the backend, such as: failgraph doctor jaeger"
    if current().enabled:
        return f"Failures arrive in {reader.name}. Start your program with the same variables."
    return f"Failures arrive in {reader.name}. Start your program with: failgraph run -- COMMAND"


def _source_row(reader: _TraceReader | None, problems: int) -> dict[str, object]:
    """Return the last object: as that of the other commands, and the number of problems."""
    if reader is None:
        row: dict[str, object] = {"source": None, "traces": 0, "losses": []}
    else:
        row = source_row(reader.name, reader.trace_count, reader.losses)
    return {**row, "problems": problems}


class _TraceReader:
    """Reads a trace from a backend, or from a file that a Collector writes.

    Attributes:
        name: The source, safe to show.
        trace_count: 1 if the last reading had the trace, else 0.
        losses: What was lost in the last reading.
    """

    def __init__(self, given: str) -> None:
        self._given = given
        self._address = address_of(given, current(), os.path.exists)
        self.name = display(source_name(given, self._address))
        self.trace_count = 0
        self.losses: Losses = ()

    def read(self, trace_id: str) -> Reading:
        """Return what the source has of a trace; of a file everything."""
        if self._address is None:
            reading = _read_so_far(self._given)
        else:
            address = self._address._replace(trace_id=trace_id)
            reading = read_backends([address], BackendRequest(), current()).reading
        self.trace_count = sum(trace.trace_id == trace_id for trace in reading.traces)
        self.losses = reading.losses
        return reading


def _read_so_far(path: str) -> Reading:
    """Read a file that a Collector may still be writing, so that it may have no trace yet."""
    try:
        return read(path)
    except SourceError:
        if not os.path.isfile(path):
            raise
    return Reading([], {}, {}, ())
