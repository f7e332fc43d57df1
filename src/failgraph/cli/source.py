"""Reading of SOURCE: a file, standard input or a backend."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from failgraph.backends import Address, address_of, read_backend
from failgraph.backends.urls import display_url
from failgraph.cli.output import fetching_progress, reading_progress
from failgraph.errors import SourceError
from failgraph.readers import Reading, read
from failgraph.readers.source import open_journal
from failgraph.settings import current
from failgraph.traces.query import Query
from failgraph.view.lines import count_of

_TRACE_ID = re.compile("[0-9a-fA-F]{1,32}")
_BACKEND_DIGITS = (16, 32)  # Jaeger omits the first 16 digits of an id if they are 0
_MIN_DIGITS = 6  # of an abbreviated trace id


class ReadSource(NamedTuple):
    """A source that has been read.

    Attributes:
        name: The source for messages, and for commands that messages suggest.
        reading: Its traces.
        notes: Sentences that say what of a backend was not looked at.
        trace_id: The requested trace, 32 hex digits, or None if all were requested.
    """

    name: str
    reading: Reading
    notes: tuple[str, ...] = ()
    trace_id: str | None = None


def read_source(
    source: str,
    query: Query,
    trace_id: str | None = None,
    *,
    journal: str | None = None,
    whole_window: bool = False,
) -> ReadSource:
    """Read a file as a whole; of a backend one trace, or those that may match a query.

    Args:
        source: SOURCE of the command line.
        query: Limits what is read of a backend. It does not filter a file.
        trace_id: The only trace to show; for a file its first digits are enough.
        journal: A journal to read besides. None means that of the settings, if it exists.
        whole_window: True to read all traces of a backend in the query's time and, unless there
            are too many, the durations of those without failures.

    Raises:
        SourceError: The source cannot be read, or does not have the trace.
    """
    address = address_of(source, current(), os.path.exists)
    name = source_name(source, address)
    digits = None if trace_id is None else _parse_trace_id(name, trace_id)
    if journal is None:
        journal = _default_journal()
    if address is None:
        return _read_file(source, digits, journal)
    if digits is not None:
        address = address._replace(trace_id=_backend_trace_id(name, digits))
    return _read_backend(name, address, query, journal, whole_window=whole_window)


def source_name(source: str, address: Address | None) -> str:
    """Return the name of a source for messages. Of a URL, it omits credentials and the query."""
    if address is None or source == address.kind:
        return source
    return display_url(address.base)


def _parse_trace_id(name: str, text: str) -> str:
    """Return 1 to 32 hex digits in lower case, or raise SourceError."""
    digits = text.strip()
    if not _TRACE_ID.fullmatch(digits):
        raise SourceError(f"{text!r} is not a trace id of 32 hex digits. {_hint(name)}")
    return digits.lower()


def _backend_trace_id(name: str, digits: str) -> str:
    """Return 32 hex digits, or raise SourceError: backends cannot find an abbreviated id."""
    if len(digits) not in _BACKEND_DIGITS:
        raise SourceError(f"{name} needs the whole trace id, not {digits}. {_hint(name)}")
    return digits.zfill(32)


def _default_journal() -> str | None:
    """Return the journal of the settings, or None if it does not exist."""
    journal = current().journal
    return journal if journal is not None and os.path.exists(journal) else None


def _read_file(path: str, digits: str | None, journal: str | None) -> ReadSource:
    with reading_progress() as progress:
        reading = read(path, progress, journal)
    trace_id = None if digits is None else _find_trace(path, reading, digits)
    return ReadSource(path, reading, trace_id=trace_id)


def _read_backend(
    name: str, address: Address, query: Query, journal: str | None, *, whole_window: bool
) -> ReadSource:
    with fetching_progress() as progress, open_journal(journal) as files:
        result = read_backend(address, query, current(), progress, files, whole_window=whole_window)
    trace_id = address.trace_id
    if trace_id is not None and trace_id not in result.reading.durations:
        raise SourceError(f"{name} does not have trace {trace_id} (yet). {_hint(name)}")
    return ReadSource(name, result.reading, result.notes, trace_id)


def _find_trace(name: str, reading: Reading, digits: str) -> str:
    """Return the id of the only trace that starts with `digits`, or raise SourceError."""
    if digits.zfill(32) in reading.durations:
        return digits.zfill(32)
    hint = _hint(name, len(reading.traces))
    if len(digits) < _MIN_DIGITS:
        raise SourceError(f"{digits} is too short for a trace id: give 6 digits or more. {hint}")
    matching = [trace_id for trace_id in reading.durations if trace_id.startswith(digits)]
    if not matching:
        raise SourceError(f"no trace id in {name} starts with {digits}. {hint}")
    if len(matching) > 1:
        raise SourceError(
            f"{len(matching)} trace ids in {name} start with {digits}. Give more digits."
        )
    return matching[0]


def _hint(name: str, failed: int | None = None) -> str:
    """Say how to find trace ids."""
    traces = (
        "failed traces" if failed is None else count_of(failed, "failed trace", "failed traces")
    )
    return f'Run "failgraph list {name}" to see {traces}.'
