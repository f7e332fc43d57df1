"""A directory as a source: a run, with its traces, saved rows and journals together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from failgraph.errors import SourceError

FILE_NAMES = ".jsonl, .ndjson, .json, .otlp, .pb and .binpb, also compressed (.gz)"
"""Which files of a directory are read, for messages."""

# Other compressions are taken too, so that a message can say that they are not supported.
_NAME = re.compile(r".+\.(jsonl|ndjson|json|otlp|pb|binpb)(\.(gz|zst|xz|bz2|lz4))?", re.IGNORECASE)
_MAX_FILES = 10_000


def run_files(directory: str | os.PathLike[str]) -> list[str]:
    """Return the paths of the files that a run consists of, sorted.

    They are the files in the directory and in its subdirectories whose names end as `FILE_NAMES`
    says. Links and hidden files and directories are left out.

    Raises:
        OSError: The directory cannot be read.
        SourceError: There are more than 10,000 files.
    """
    paths: list[str] = []
    for path in _files(directory):
        if _NAME.fullmatch(os.path.basename(path)):
            paths.append(path)
        if len(paths) > _MAX_FILES:
            raise SourceError(
                f"{os.fspath(directory)}: more than {_MAX_FILES} files. Give a smaller directory,"
                " or some of its files."
            )
    return sorted(paths)


def _files(directory: str | os.PathLike[str]) -> Iterator[str]:
    with os.scandir(directory) as found:
        entries = [entry for entry in found if not entry.name.startswith(".")]
    for entry in entries:
        if entry.is_file(follow_symlinks=False):
            yield os.fspath(entry.path)
        elif entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
