"""Temporary files for the traces that a backend gave: one per format, so that few are open."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import IO, cast

from failgraph.backends.response import Response
from failgraph.readers.source import SourceFile


class TraceSpool:
    """Holds responses with traces until it is closed.

    Args:
        name: What messages call the source of the traces.

    Attributes:
        size: Bytes of all responses.
    """

    def __init__(self, name: str) -> None:
        self.size = 0
        self._name = name
        self._files: dict[bool, IO[bytes]] = {}  # by `Response.is_json`

    def close(self) -> None:
        """Delete the files."""
        for file in self._files.values():
            file.close()

    def add(self, response: Response) -> None:
        """Add the traces of a response."""
        if response.is_json not in self._files:
            self._files[response.is_json] = cast(
                "IO[bytes]",
                tempfile.TemporaryFile(prefix="failgraph-"),  # noqa: SIM115 - closed by `close`
            )
        file = self._files[response.is_json]
        file.seek(0, os.SEEK_END)  # it may have been read meanwhile
        response.file.seek(0)
        shutil.copyfileobj(response.file, file)
        if response.is_json:
            file.write(b"\n")  # each document stands on a line of its own
        self.size += response.size

    def files(self) -> list[SourceFile]:
        """Return the files to read."""
        for file in self._files.values():
            file.flush()
        return [SourceFile(self._name, file) for file in self._files.values()]
