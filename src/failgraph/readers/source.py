"""Open a source so that it can be read twice: a file, a directory, standard input or a pipe."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import resource
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, NamedTuple, cast

from failgraph.errors import SourceError, reason_of
from failgraph.readers.run_directory import FILE_NAMES, run_files

STDIN = "-"  # the source that stands for standard input

HEAD_SIZE = 4096  # bytes at the beginning that decide which format a source has

GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)  # what damaged gzip data raises

Progress = Callable[[int, int], None]
"""Called while a source is read, with the number of bytes read and their total."""

_UNSUPPORTED = {
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xff\x06\x00\x00sNaPpY": "snappy",
}
_PROGRESS_STEP = 1 << 20  # bytes
_GZIP = b"\x1f\x8b"


class SourceFile(NamedTuple):
    """An open file that belongs to a source.

    Attributes:
        name: How messages name it.
        file: Seekable. The code that opened it closes it.
        is_member: True if the user named its directory, not the file. Such a file may be of
            another kind.
    """

    name: str
    file: IO[bytes]
    is_member: bool = False


class OpenFiles(NamedTuple):
    """The open files of a source.

    Attributes:
        files: Empty for a directory without files to read.
        unopened: A sentence for each file of a directory that cannot be opened.
    """

    files: list[SourceFile]
    unopened: list[str]


@contextmanager
def open_files(source: str | os.PathLike[str]) -> Iterator[OpenFiles]:
    """Open a source as seekable files: a directory as those of a run, anything else as one.

    Raises:
        SourceError: If the source cannot be opened.
    """
    if source == STDIN or not os.path.isdir(source):
        with _open_one(source) as file:
            yield OpenFiles([SourceFile(source_name(source), file)], [])
        return
    with contextlib.ExitStack() as stack:
        yield _open_members(source, stack)


@contextmanager
def open_sources(sources: Sequence[str]) -> Iterator[OpenFiles]:
    """Open the files of all sources of a command, each once, with as many at a time as may be.

    Raises:
        SourceError: If a source cannot be opened. A directory without files is no error.
    """
    files: dict[tuple[int, int], SourceFile] = {}
    unopened: list[str] = []
    _allow_open_files()
    with contextlib.ExitStack() as stack:
        for source in sources:
            opened = stack.enter_context(open_files(source))
            unopened += opened.unopened
            for file in opened.files:
                status = os.fstat(file.file.fileno())
                files.setdefault((status.st_dev, status.st_ino), file)
        yield OpenFiles(list(files.values()), unopened)


def _allow_open_files() -> None:
    """Raise this process's limit of open files as far as it may: a run can have thousands."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def _open_one(source: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file, or a copy of a pipe, since a source is read twice."""
    try:
        with _open(source) as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                yield file
                return
            with tempfile.TemporaryFile(prefix="failgraph-") as spool:
                shutil.copyfileobj(file, spool)
                yield cast("IO[bytes]", spool)
    except OSError as error:
        name = source_name(source)
        missing = "no such directory" if name.endswith("/") else "no such file"
        reason = missing if isinstance(error, FileNotFoundError) else reason_of(error)
        raise SourceError(f"{name}: {reason}") from error


def _open_members(directory: str | os.PathLike[str], stack: contextlib.ExitStack) -> OpenFiles:
    """Open all files of a run at once, so that they can be read after their writer removed them."""
    opened = OpenFiles([], [])
    try:
        paths = run_files(directory)
    except OSError as error:
        raise SourceError(f"{error.filename}: {reason_of(error)}") from error
    for path in paths:
        _open_member(path, opened, stack)
    return opened


def _open_member(path: str, opened: OpenFiles, stack: contextlib.ExitStack) -> None:
    try:
        file = stack.enter_context(open(path, "rb"))  # noqa: SIM115 - the stack closes it
    except FileNotFoundError:
        return  # a journal removes its oldest file
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise SourceError(
                f"{path}: too many open files. Raise the limit (ulimit -n), or give fewer files."
            ) from error
        opened.unopened.append(f"{path}: {reason_of(error)}")
    else:
        opened.files.append(SourceFile(path, file, is_member=True))


def no_files_error(source: str | os.PathLike[str]) -> SourceError:
    """Return the error for a directory without files to read."""
    return SourceError(
        f"{source_name(source)}: a directory without files to read. Their names end in"
        f" {FILE_NAMES}."
    )


def jsonl_files(directory: str | os.PathLike[str]) -> list[str]:
    """Return the paths of the `.jsonl` files in a directory, sorted. Links are left out."""
    with os.scandir(directory) as entries:
        return sorted(
            os.fspath(entry.path)
            for entry in entries
            if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False)
        )


def source_name(source: str | os.PathLike[str]) -> str:
    """Return how messages name a source."""
    return "standard input" if source == STDIN else os.fspath(source)


def decompressed(source: SourceFile, progress: Progress | None = None) -> IO[bytes]:
    """Return a stream of the file's content from its beginning, decompressed if it is gzip.

    Raises:
        SourceError: If it is compressed in a way that is not supported.
    """
    file = source.file
    file.seek(0)
    head = file.read(16)
    file.seek(0)
    for magic, name in _UNSUPPORTED.items():
        if head.startswith(magic):
            raise SourceError(
                f"{source.name} is compressed with {name}, which is not supported;"
                " decompress it first, or use gzip"
            )
    if progress is not None:
        file = cast("IO[bytes]", _ProgressFile(file, progress))
    if head.startswith(_GZIP):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="rb"))
    return file


def _open(source: str | os.PathLike[str]) -> IO[bytes]:
    if source != STDIN:
        return open(source, "rb")
    if sys.stdin is None:
        raise SourceError("standard input is closed")
    # closefd: the caller's own standard input stays open.
    return open(sys.stdin.fileno(), "rb", closefd=False)


class _ProgressFile:
    """A file that reports how far it has been read: every 1 MiB, and at its end."""

    def __init__(self, file: IO[bytes], progress: Progress) -> None:
        self._file = file
        self._progress = progress
        self._size = os.fstat(file.fileno()).st_size
        self._read = self._reported = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        return self._count(self._file.read(size))

    def readline(self, size: int = -1) -> bytes:
        return self._count(self._file.readline(size))

    def _count(self, data: bytes) -> bytes:
        self._read += len(data)
        if not data or self._read - self._reported >= _PROGRESS_STEP:
            self._reported = self._read
            self._progress(min(self._read, self._size), self._size)
        return data
