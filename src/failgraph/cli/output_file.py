"""Write the results of a command to the file of `-o`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TextIO, cast

from failgraph.cli.messages import redacted
from failgraph.errors import ConfigError
from failgraph.readers.run_directory import run_files


def reject_source(path: str | None, sources: Sequence[str]) -> None:
    """Raise ConfigError if the file of `-o` is a source, or a file of one: it would replace it."""
    if path is None or not os.path.isfile(path):
        return
    for source in sources:
        files = run_files(source) if os.path.isdir(source) else [source]
        if any(_is_same_file(path, file) for file in files):
            raise ConfigError([redacted(f"-o {path} is also a source. Give another file.")])


def _is_same_file(path: str, source: str) -> bool:
    try:
        return os.path.samefile(path, source)
    except (OSError, ValueError):  # no file of that name, or a name that none can have
        return False


@contextmanager
def results_to(path: str | None) -> Iterator[None]:
    """Write standard output to a file, which appears when the block has ended without an error.

    Args:
        path: The file; None or `-` leaves standard output as it is.

    Raises:
        OSError: The file cannot be written; the error names it.
    """
    if path is None or path == "-":
        yield
        return
    target = os.path.realpath(path)
    is_special = os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode)
    # A pipe or device cannot be replaced, and a directory is refused.
    written = target if is_special else f"{target}.{os.getpid()}.tmp"
    with _named(path):
        stream = _open(written, "w" if is_special else "x")
    try:
        with _named(path, only_unnamed=True), stream, redirect_stdout(stream):
            yield
        if not is_special:
            with _named(path):
                _replace(target, written)
    finally:
        if not is_special:
            with suppress(OSError):  # not there any more once it is the target
                os.unlink(written)


def _open(path: str, mode: str) -> TextIO:
    return cast("TextIO", open(path, mode, encoding="utf-8", errors="backslashreplace"))


def _replace(target: str, written: str) -> None:
    """Put a finished file in the place of the target, with the permissions of the old one."""
    with suppress(FileNotFoundError):
        os.chmod(written, stat.S_IMODE(os.stat(target).st_mode))
    os.replace(written, target)


@contextmanager
def _named(path: str, *, only_unnamed: bool = False) -> Iterator[None]:
    """Give errors of the system the name of the file that the user gave.

    Args:
        path: The file.
        only_unnamed: True to leave errors that name another file. That of a write names none.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or (only_unnamed and error.filename is not None):
            raise
        raise OSError(error.errno, error.strerror, path) from None
