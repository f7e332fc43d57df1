"""The journal's files of this process: whole lines, one write each, within a size.

Nothing here raises: what cannot be written costs one line of log in all, and a count.
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

_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_MAX_SERVICE = 80
_NOTE_BYTES = 1024
"""More than a note on what was removed takes."""
_MAX_REMEMBERED = 16384
"""Failures without a place in a trace, of which is known that they are in the journal."""


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


class _File:
    """A file that this process has made, and may find taken away: removed, or its descriptor closed by somebody."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.failures = 0
        self.torn = False
        """Whether a line of it was written in part."""
        self._descriptor = os.open(path, _FLAGS, 0o600)
        made = os.fstat(self._descriptor)
        self._identity = (made.st_dev, made.st_ino)

    def size(self) -> int | None:
        """Its bytes; None where it is gone."""
        try:
            now = os.fstat(self._descriptor)
        except OSError:
            return None
        # A descriptor that somebody closed may be another file's by now.
        ours = (now.st_dev, now.st_ino) == self._identity
        return now.st_size if ours and now.st_nlink else None

    def append(self, data: bytes, failures: int = 1) -> None:
        """Add a line in one write. Raises OSError where not all of it went in."""
        data = b"\n" + data if self.torn else data
        written = os.write(self._descriptor, data)
        if written < len(data):
            self.torn = True
            raise OSError("the disk is full")
        self.torn = False
        self.failures += failures

    def close(self) -> None:
        """Close it, where the descriptor is still its own."""
        with contextlib.suppress(OSError):
            now = os.fstat(self._descriptor)
            if (now.st_dev, now.st_ino) == self._identity:
                os.close(self._descriptor)


class Journal:
    """What of the journal is this process's own: the file that it writes, and the one before it."""

    def __init__(self) -> None:
        # Reentrant: a signal handler, or a finalizer, of this thread may record while a line is being written.
        self._lock = threading.RLock()
        self._writing = False
        self._waiting: deque[tuple[JournalLine, bytes]] = deque()
        self._directory = ""
        self._file: _File | None = None
        self._before: _File | None = None
        self._removed = 0
        self._alone: OrderedDict[tuple[str | None, str, bool], None] = OrderedDict()

    def write(self, line: JournalLine, directory: str, most_bytes: int) -> WriteResult:
        """Write a line, unless it holds a failure without a place in a trace that was written before."""
        key = (line.trace_id, line.event.event_id, line.remote)
        with self._lock:
            if key in self._alone:
                return WriteResult.ALREADY_WRITTEN
            try:
                self._append(line, encode_line(line), directory, most_bytes)
            except Exception as error:  # noqa: BLE001 - a disk and a file system may do anything
                count("journal_lost")
                why = getattr(error, "strerror", None) or str(error) or type(error).__name__
                warn_once(
                    "journal", "failgraph: the journal in %s cannot be written (%s)", directory, why
                )
                return WriteResult.FAILED
            if line.placement == "journal":
                self._alone[key] = None
                if len(self._alone) > _MAX_REMEMBERED:
                    self._alone.popitem(last=False)
            return WriteResult.WRITTEN

    def _append(self, line: JournalLine, data: bytes, directory: str, most_bytes: int) -> None:
        self._waiting.append((line, data))
        if self._writing:
            return  # this thread is at it, further down
        while self._waiting:
            self._writing = True
            try:
                each, data = self._waiting.popleft()
                self._room(each, len(data) + 1, directory, most_bytes // 2).append(data)
            finally:
                self._writing = False

    def _room(self, line: JournalLine, needed: int, directory: str, most: int) -> _File:
        """The file that takes so many bytes more, of `most` in all: the one in use, or a new one."""
        if needed + _NOTE_BYTES > most:
            raise OSError("a line is longer than half of its size limit")
        if directory != self._directory:
            self.close()
            self._directory = directory
        size = self._file.size() if self._file is not None else None
        if self._file is not None and size is not None and size + needed <= most:
            return self._file
        if self._file is not None:
            self._leave(self._file)
        self._file = self._new(line)
        if self._removed:
            self._file.append(
                encode_removed_note(self._removed, line.service, line.pid), failures=0
            )
        return self._file

    def _new(self, line: JournalLine) -> _File:
        service = _STRANGE.sub("_", line.service).lstrip(".")[:_MAX_SERVICE] or "service"
        if not os.path.isdir(self._directory):
            with contextlib.suppress(FileExistsError):  # another process was quicker
                os.mkdir(self._directory, 0o700)
        return _File(os.path.join(self._directory, f"{service}-{line.pid}-{time.time_ns()}.jsonl"))

    def _leave(self, file: _File) -> None:
        """Write to `file` no more: it is kept as the older one, whose place the one before it makes."""
        file.close()
        self._file = None
        if not os.path.lexists(file.path):
            self._gone(file)
            return
        oldest, self._before = self._before, file
        if oldest is not None:
            self._gone(oldest)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(oldest.path)

    def _gone(self, file: _File) -> None:
        self._removed += file.failures
        count("journal_removed", file.failures)

    def close(self) -> None:
        """Let go of the files; a later line gets new ones."""
        if self._file is not None:
            self._file.close()
        self._file = self._before = None
