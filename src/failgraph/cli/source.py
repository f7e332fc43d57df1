"""Reading of SOURCE...: files, directories, standard input and backends, read as one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from failgraph.backends import (
    Address,
    BackendReading,
    BackendRequest,
    address_of,
    read_backends,
)
from failgraph.backends.urls import display_url
from failgraph.cli.output import fetching_progress, reading_progress
from failgraph.cli.wanted import choose_traces
from failgraph.errors import SourceError
from failgraph.readers import Reading
from failgraph.readers.reading import read_files
from failgraph.readers.source import OpenFiles, no_files_error, open_sources
from failgraph.redaction.display import display
from failgraph.settings import current
from failgraph.traces.query import Query
from failgraph.traces.wanted_ids import wanted_id
from failgraph.view.lines import count_of

_MAX_NAMES = 3  # sources that a message names
_MAX_UNUSED = 5  # files of a directory that a message names


class ReadSource(NamedTuple):
    """The sources of a command, which have been read.

    Attributes:
        names: The sources for messages.
        reading: Their traces.
        notes: Sentences that say what was not looked at.
        trace_ids: The requested traces, 32 hex digits each, or None if all were requested.
    """

    names: tuple[str, ...]
    reading: Reading
    notes: tuple[str, ...] = ()
    trace_ids: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The sources in a sentence."""
        rest = len(self.names) - _MAX_NAMES
        more = [f"{rest} more"] if rest > 0 else []
        return ", ".join([*self.names[:_MAX_NAMES], *more])


class _Sources(NamedTuple):
    """What the sources of a command are.

    Attributes:
        names: For messages, in the order that they were given.
        paths: Files, directories and standard input.
        addresses: Backends.
    """

    names: tuple[str, ...]
    paths: list[str]
    addresses: list[Address]


def read_sources(
    sources: Sequence[str],
    query: Query,
    ids: Sequence[str] = (),
    *,
    whole_window: bool = False,
    quiet: bool = False,
) -> ReadSource:
    """Read files as a whole; of backends the traces with some ids, or those that match a query.

    Args:
        sources: SOURCE... of the command line.
        query: Limits what is read of a backend. It does not filter a file.
        ids: Trace ids, the first digits of some, or ids of rollouts; none means all.
        whole_window: True to read all traces of a backend since the query's start, not only the
            newest, with the durations of those without failures.
        quiet: True for no progress bar.

    Raises:
        SourceError: A source cannot be read, none has a trace, or an id is not in them.
    """
    found = _parse(sources)
    wanted = tuple(map(wanted_id, ids))
    request = BackendRequest(query, wanted, whole_window)
    with _opened(found) as opened:
        reading, notes = _read(found, request, opened, quiet=quiet)
    source = ReadSource(found.names, reading, (*notes, *_unused_note(reading)))
    if ids:
        hint = _hint(found, source)
        may_arrive = bool(found.addresses)
        chosen = choose_traces(wanted, reading, source.name, hint, may_arrive=may_arrive)
        return source._replace(trace_ids=chosen)
    return source._replace(trace_ids=_traces_of_pages(found, source))


def source_name(source: str, address: Address | None) -> str:
    """Return the name of a source for messages. Of a URL, it omits credentials and the query."""
    if address is None or source == address.kind:
        return source
    return display_url(address.base)


def _parse(sources: Sequence[str]) -> _Sources:
    names, paths, addresses = [], [], []
    for source in dict.fromkeys(sources):
        address = address_of(source, current(), os.path.exists)
        names.append(source_name(source, address))
        if address is None:
            paths.append(source)
        else:
            addresses.append(address)
    return _Sources(tuple(dict.fromkeys(names)), paths, addresses)


@contextmanager
def _opened(sources: _Sources) -> Iterator[OpenFiles]:
    """Open all files, each once. An empty directory is an error if there is nothing else."""
    with open_sources(sources.paths) as opened:
        if sources.paths and not (opened.files or opened.unopened or sources.addresses):
            raise no_files_error(sources.paths[0])
        yield opened


def _read(
    sources: _Sources, request: BackendRequest, opened: OpenFiles, *, quiet: bool
) -> BackendReading:
    if not sources.addresses:
        with reading_progress(quiet=quiet) as progress:
            return BackendReading(read_files(opened.files, progress, opened.unopened))
    with fetching_progress(quiet=quiet) as progress:
        return read_backends(sources.addresses, request, current(), progress, opened)


def _traces_of_pages(sources: _Sources, source: ReadSource) -> tuple[str, ...] | None:
    """Return the traces, each once, if every source is the page of one, or None.

    Raises:
        SourceError: The trace of a page does not exist.
    """
    pages = [address.trace_id for address in sources.addresses if address.trace_id is not None]
    for trace_id in pages:
        if trace_id not in source.reading.durations:
            raise SourceError(
                f"{source.name} does not have trace {trace_id} (yet). {_hint(sources, source)}"
            )
    is_all = len(pages) == len(sources.addresses) and not sources.paths
    return tuple(dict.fromkeys(pages)) if is_all else None


def _unused_note(reading: Reading) -> Iterator[str]:
    """Name the files of directories that contain no trace."""
    rest = len(reading.unused) - _MAX_UNUSED
    more = [f"{rest} more"] if rest > 0 else []
    if reading.unused:
        names = [display(each) for each in reading.unused[:_MAX_UNUSED]]
        yield f"not used: {', '.join([*names, *more])}"


def _hint(sources: _Sources, source: ReadSource) -> str:
    """Say what of the sources was not read, and how to find ids."""
    notes = [f"{note[0].upper()}{note[1:]}. " for note in source.notes if sources.addresses]
    traces = "traces with failures"
    if not sources.addresses:
        traces = count_of(len(source.reading.traces), "trace with failures", "traces with failures")
    return f'{"".join(notes)}Run "failgraph list {shlex.join(sources.names)}" to see {traces}.'
