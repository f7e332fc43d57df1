"""The traces that a backend gave, one after the other in a file for each form, so that few files are open."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import IO, cast

from failgraph.backends.client import Answer
from failgraph.readers.source import SourceFile


class Kept:
    """Traces for `read_files`, until it is closed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._files: dict[bool, IO[bytes]] = {}
        self.size = 0
        """Bytes of all."""

    def close(self) -> None:
        """Give them up."""
        for file in self._files.values():
            file.close()

    def add(self, answer: Answer) -> None:
        """Keep a trace."""
        if answer.is_json not in self._files:
            self._files[answer.is_json] = cast(
                "IO[bytes]",
                tempfile.TemporaryFile(prefix="failgraph-"),  # noqa: SIM115
            )
        file = self._files[answer.is_json]
        file.seek(0, os.SEEK_END)  # it may have been read meanwhile
        answer.file.seek(0)
        shutil.copyfileobj(answer.file, file)
        if answer.is_json:
            file.write(b"\n")  # the next document stands on a line of its own
        self.size += answer.size

    def parts(self) -> list[SourceFile]:
        """All of them, as `read_files` takes them."""
        for file in self._files.values():
            file.flush()
        return [SourceFile(self._name, file) for file in self._files.values()]
