"""A source of bytes that can be read twice: a file, a journal's directory, standard input or a pipe, gzip or not."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from failgraph.errors import SourceError

STDIN = "-"
"""The source that stands for standard input."""

HEAD = 4096
"""Bytes by which a form is told."""

Progress = Callable[[int, int], None]
"""Told, while a source is read, how many bytes of how many are done; both passes count."""

_COMPRESSIONS = {
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xff\x06\x00\x00sNaPpY": "snappy",
}
_TELL_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"


@contextmanager
def opened(source: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """`source` as a seekable file of bytes. A pipe is first copied to a temporary file, since it is read twice.

    So are the files of a directory: their processes may remove them meanwhile.

    Raises SourceError where it cannot be opened.
    """
    try:
        if source != STDIN and os.path.isdir(source):
            with tempfile.TemporaryFile(prefix="failgraph-") as spool:
                _gather(source, cast("IO[bytes]", spool))
                yield cast("IO[bytes]", spool)
            return
        with _open(source) as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                yield file
                return
            with tempfile.TemporaryFile(prefix="failgraph-") as spool:
                shutil.copyfileobj(file, spool)
                yield cast("IO[bytes]", spool)
    except OSError as error:
        raise SourceError(f"{name_of(source)} cannot be read: {error.strerror or error}") from error


def files_of(directory: str | os.PathLike[str]) -> list[str]:
    """The `.jsonl` files of a directory; none is a link."""
    with os.scandir(directory) as entries:
        found = (
            each
            for each in entries
            if each.name.endswith(".jsonl") and each.is_file(follow_symlinks=False)
        )
        return sorted(os.fspath(each.path) for each in found)


def _gather(directory: str | os.PathLike[str], into: IO[bytes]) -> None:
    """Copy the `.jsonl` files of a directory, one behind the other."""
    paths = files_of(directory)
    if not paths:
        raise SourceError(
            f"{name_of(directory)} is a directory without .jsonl files, and so no journal"
        )
    for path in paths:
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
            shutil.copyfileobj(file, into)
        into.write(b"\n")  # the last line of one that was killed is not whole
    into.flush()


def _open(source: str | os.PathLike[str]) -> IO[bytes]:
    if source != STDIN:
        return open(source, "rb")
    if sys.stdin is None:
        raise SourceError("standard input is closed")
    # The caller's own standard input stays open.
    return open(sys.stdin.fileno(), "rb", closefd=False)


def name_of(source: str | os.PathLike[str]) -> str:
    """What messages call the source."""
    return "standard input" if source == STDIN else os.fspath(source)


def unpacked(
    file: IO[bytes], source: str | os.PathLike[str], progress: Progress | None
) -> IO[bytes]:
    """The bytes of `file` from its beginning, gunzipped where they are gzip.

    Raises SourceError, naming it, for a compression that is not read.
    """
    file.seek(0)
    head = file.read(16)
    file.seek(0)
    for magic, name in _COMPRESSIONS.items():
        if head.startswith(magic):
            raise SourceError(
                f"{name_of(source)} is {name} data, which is not read; unpack it first, or use gzip"
            )
    counted = cast("IO[bytes]", _Counted(file, progress)) if progress is not None else file
    return (
        cast("IO[bytes]", gzip.GzipFile(fileobj=counted, mode="rb"))
        if head.startswith(_GZIP)
        else counted
    )


UNPACK_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)
"""What reading damaged gzip data raises."""


class _Counted:
    """A file that tells how far it has been read, now and then and at its end."""

    def __init__(self, file: IO[bytes], progress: Progress) -> None:
        self._file = file
        self._progress = progress
        self._size = os.fstat(file.fileno()).st_size
        self._done = self._told = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def _tell(self, data: bytes) -> bytes:
        self._done += len(data)
        if not data or self._done - self._told >= _TELL_BYTES:
            self._told = self._done
            self._progress(min(self._done, self._size), self._size)
        return data

    def read(self, size: int = -1) -> bytes:
        return self._tell(self._file.read(size))

    def readline(self, size: int = -1) -> bytes:
        return self._tell(self._file.readline(size))
