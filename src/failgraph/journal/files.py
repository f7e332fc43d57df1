"""Write the journal files of this process: whole lines, one write each, limited in size.

Nothing here raises. If the journal cannot be written, that is logged once and every line counted.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections import OrderedDict, deque
from enum import Enum, auto

from failgraph.diagnostics import count, warn_once
from failgraph.journal.lines import JournalLine, encode_line, encode_removed_note
from failgraph.text import sanitize

_NOT_IN_FILE_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_MAX_SERVICE_LENGTH = 80  # characters of a file name
_NOTE_BYTES = 1024  # more than a note about removed failures takes
_MAX_REMEMBERED = 16384  # failures without a place in a trace, so that each is written once


class WriteResult(Enum):
    """What became of a line given to `Journal.write`.

    Attributes:
        WRITTEN: The line is in the journal.
        ALREADY_WRITTEN: The journal holds this failure, which has no place in a trace, already.
        FAILED: The line could not be written; the failure is not in the journal.
    """

    WRITTEN = auto()
    ALREADY_WRITTEN = auto()
    FAILED = auto()


class _JournalFile:
    """A file made by this process, which others may remove and whose descriptor they may close.

    Attributes:
        path: Where it was made.
        failures: The number of failures in it.
        is_torn: True if its last line was written in part.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.failures = 0
        self.is_torn = False
        self._descriptor = os.open(path, _FLAGS, 0o600)
        status = os.fstat(self._descriptor)
        self._identity = (status.st_dev, status.st_ino)

    def size(self) -> int | None:
        """Return its size in bytes, or None if it was removed or closed."""
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return None
        if not self._is_ours(status) or not status.st_nlink:
            return None
        return status.st_size

    def append(self, data: bytes, failures: int = 1) -> None:
        """Append a line in one write.

        Args:
            data: The line, with its line feed.
            failures: The number of failures in it.

        Raises:
            OSError: Not all of it could be written.
        """
        if self.is_torn:
            data = b"\n" + data
        written = os.write(self._descriptor, data)
        if written < len(data):
            self.is_torn = True
            raise OSError("the disk is full")
        self.is_torn = False
        self.failures += failures

    def close(self) -> None:
        """Close the file, unless its descriptor belongs to another file by now."""
        with contextlib.suppress(OSError):
            if self._is_ours(os.fstat(self._descriptor)):
                os.close(self._descriptor)

    def _is_ours(self, status: os.stat_result) -> bool:
        # The program may have closed the descriptor, and its number may be another file's by now.
        return (status.st_dev, status.st_ino) == self._identity


class Journal:
    """The journal files of this process: the one in use, and the one before it.

    When a file has half of the allowed size, a new one is begun and the older one is removed.
    """

    def __init__(self) -> None:
        # Reentrant: a signal handler or a finalizer of this thread may record while it writes.
        self._lock = threading.RLock()
        self._is_writing = False
        self._pending: deque[tuple[JournalLine, bytes]] = deque()
        self._directory = ""
        self._current: _JournalFile | None = None
        self._previous: _JournalFile | None = None
        self._removed_failures = 0
        self._remembered: OrderedDict[tuple[str | None, str, bool], None] = OrderedDict()

    def write(self, line: JournalLine, directory: str, max_bytes: int) -> WriteResult:
        """Write a line, unless its failure has no place in a trace and was written before.

        Args:
            line: The failure.
            directory: Where the files are; it is created if its parent exists.
            max_bytes: The size of both files together.
        """
        key = (line.trace_id, line.event.event_id, line.remote)
        with self._lock:
            if key in self._remembered:
                return WriteResult.ALREADY_WRITTEN
            try:
                self._append(line, encode_line(line), directory, max_bytes)
            except Exception as error:  # noqa: BLE001 - a disk and a file system may do anything
                count("journal_lost")
                _warn(directory, error)
                return WriteResult.FAILED
            if line.placement == "journal":
                self._remembered[key] = None
                if len(self._remembered) > _MAX_REMEMBERED:
                    self._remembered.popitem(last=False)
            return WriteResult.WRITTEN

    def close(self) -> None:
        """Close the file in use; a later line gets a new one."""
        if self._current is not None:
            self._current.close()
        self._current = self._previous = None

    def _append(self, line: JournalLine, data: bytes, directory: str, max_bytes: int) -> None:
        self._pending.append((line, data))
        if self._is_writing:
            return  # the call further up this thread's stack writes it
        while self._pending:
            self._is_writing = True
            try:
                next_line, next_data = self._pending.popleft()
                file = self._file_for(next_line, len(next_data) + 1, directory, max_bytes // 2)
                file.append(next_data)
            finally:
                self._is_writing = False

    def _file_for(
        self, line: JournalLine, needed: int, directory: str, max_bytes: int
    ) -> _JournalFile:
        """Return a file that has room for `needed` more bytes: the one in use, or a new one."""
        if needed + _NOTE_BYTES > max_bytes:
            raise OSError("a line is longer than half of its size limit")
        if directory != self._directory:
            self.close()
            self._directory = directory
        if self._current is not None:
            size = self._current.size()
            if size is not None and size + needed <= max_bytes:
                return self._current
            self._retire(self._current)
        self._current = self._create(line)
        if self._removed_failures:
            note = encode_removed_note(self._removed_failures, line.service, line.pid)
            self._current.append(note, failures=0)
        return self._current

    def _create(self, line: JournalLine) -> _JournalFile:
        service = _NOT_IN_FILE_NAMES.sub("_", line.service).lstrip(".")[:_MAX_SERVICE_LENGTH]
        if not os.path.isdir(self._directory):
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.mkdir(self._directory, 0o700)
        name = f"{service or 'service'}-{line.pid}-{time.time_ns()}.jsonl"
        return _JournalFile(os.path.join(self._directory, name))

    def _retire(self, file: _JournalFile) -> None:
        """Close the file in use, and remove the one before it."""
        file.close()
        self._current = None
        if not os.path.lexists(file.path):
            self._count_removed(file)
            return
        oldest, self._previous = self._previous, file
        if oldest is not None:
            self._count_removed(oldest)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(oldest.path)

    def _count_removed(self, file: _JournalFile) -> None:
        self._removed_failures += file.failures
        count("journal_removed", file.failures)


def _warn(directory: str, error: Exception) -> None:
    reason = type(error).__name__  # the text of any other error may hold a user's
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
    warn_once(
        "journal",
        "failgraph: cannot write to the journal in %s: %s; lost failures count as journal_lost",
        sanitize(directory),
        sanitize(reason),
    )
